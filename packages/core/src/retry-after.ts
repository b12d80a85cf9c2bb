/**
 * Returns the pause that a `Retry-After` header requests, in ms. The header contains seconds or a
 * date. Without a valid header, or with a date in the past, the pause is 0: a client waits for the
 * longer of this and its own pause, so that no header removes its pause.
 * @param now milliseconds since 1970
 */
export function retryAfterMs(header: string | null | undefined, now: number): number {
  if (!header) return 0;
  const seconds = Number(header);
  const ms = Number.isNaN(seconds) ? Date.parse(header) - now : seconds * 1000;
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}
