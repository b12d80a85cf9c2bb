/**
 * Finds stop strings in a stream of tokens, on bytes, also where a string spans tokens or ends
 * inside one.
 */
import type { StopString } from './plan.js';

/** The byte string of each token id. */
export interface TokenBytes {
  /** Those of all tokens, one after the other. */
  readonly bytes: Uint8Array;
  /** Token t is `bytes[offsets[t] .. offsets[t + 1])`; ids beyond have no bytes. */
  readonly offsets: Uint32Array;
}

export function packTokenBytes(tokens: readonly Uint8Array[]): TokenBytes {
  const offsets = new Uint32Array(tokens.length + 1);
  for (let i = 0; i < tokens.length; i++) offsets[i + 1] = offsets[i]! + tokens[i]!.length;
  const bytes = new Uint8Array(offsets[tokens.length]!);
  for (let i = 0; i < tokens.length; i++) bytes.set(tokens[i]!, offsets[i]);
  return { bytes, offsets };
}

export interface StopMatcher {
  /** Takes the next token; returns the stop string that it completes, the one that ends first. */
  push(token: number): string | undefined;
}

/** Remembers no more of the past than the longest stop string can reach back. */
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
      const found = firstToEnd(text, stops);
      tail = text.subarray(Math.max(0, text.length - reach));
      return found;
    },
  };
}

function firstToEnd(text: Buffer, stops: readonly StopString[]): string | undefined {
  let best: string | undefined;
  let bestEnd = Infinity;
  for (const stop of stops) {
    const at = text.indexOf(stop.bytes);
    if (at >= 0 && at + stop.bytes.length < bestEnd) {
      best = stop.text;
      bestEnd = at + stop.bytes.length;
    }
  }
  return best;
}
