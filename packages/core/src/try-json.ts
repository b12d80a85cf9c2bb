/** Parses JSON of a file or line that may be cut off, missing or written by another program. */

/** Returns undefined for missing text and for text that is not JSON. */
export function tryJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
