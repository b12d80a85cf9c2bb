/** Parses JSON that may be cut off, missing or written by another program. */

/** Parses a text. Returns undefined if the text is missing or not JSON. */
export function tryJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
