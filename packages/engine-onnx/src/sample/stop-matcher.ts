/**
 * Finds stop strings in a stream of tokens. Compares bytes, because a string may span tokens or end
 * inside a token.
 */
import type { TokenBytes } from '../model/token-bytes.js';
import type { StopString } from './plan.js';

export interface StopMatcher {
  /**
   * Adds a token. Returns the stop string that the token completes. If the token completes several
   * stop strings, returns the string that ends first.
   */
  push(token: number): string | undefined;
}

/** Creates a matcher. It stores only as many past bytes as the longest stop string needs. */
export function createStopMatcher(
  stops: readonly StopString[],
  tokenBytes: TokenBytes,
): StopMatcher {
  const reach = Math.max(...stops.map((stop) => stop.bytes.length)) - 1;
  let tail: Buffer = Buffer.alloc(0);
  return {
    push(token) {
      const start = tokenBytes.offsets[token] ?? 0;
      const end = tokenBytes.offsets[token + 1] ?? start;
      const text = Buffer.concat([tail, tokenBytes.bytes.subarray(start, end)]);
      const found = firstToEnd(text, tail.length, stops);
      tail = text.subarray(Math.max(0, text.length - reach));
      return found;
    },
  };
}

/** Returns the stop string that ends first after `start`, or undefined if none does. */
function firstToEnd(text: Buffer, start: number, stops: readonly StopString[]): string | undefined {
  let best: string | undefined;
  let bestEnd = Infinity;
  for (const stop of stops) {
    const at = text.indexOf(stop.bytes, Math.max(0, start + 1 - stop.bytes.length));
    if (at >= 0 && at + stop.bytes.length < bestEnd) {
      best = stop.text;
      bestEnd = at + stop.bytes.length;
    }
  }
  return best;
}
