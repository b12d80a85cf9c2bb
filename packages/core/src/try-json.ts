/**
 * Parses JSON. Returns undefined if the string is missing or not valid JSON, such as JSON that was
 * cut off.
 */
export function tryJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
