/** JSON of a file or a line that may be torn, missing or of someone else. */

/** Undefined for a text that is no JSON, and for none. */
export function tryJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
