/** Decodes the percent escapes of a path segment. Returns a segment with invalid escapes unchanged. */
export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
