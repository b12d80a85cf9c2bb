/**
 * Returns the pause in ms that a `Retry-After` header requests, in seconds or as a date. Returns 0
 * without a valid header, and for a date in the past. Clients wait for at least their own pause, so
 * a header cannot shorten it.
 * @param now milliseconds since 1970
 */
export function retryAfterMs(header: string | null | undefined, now: number): number {
  if (!header) return 0;
  const seconds = Number(header);
  const ms = Number.isNaN(seconds) ? Date.parse(header) - now : seconds * 1000;
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}
