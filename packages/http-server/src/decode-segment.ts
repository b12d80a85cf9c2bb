/**
 * Decodes the percent escapes in a path segment. If an escape is invalid, returns the segment
 * unchanged.
 */
export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
