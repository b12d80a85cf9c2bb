/**
 * Selects the tokens that `m2po` trains on, so that the mean squared log-ratio stays below a
 * threshold.
 */
import type { LossInput, Metrics } from '@trinity-rft/core';

export interface TrustMask {
  /** 1 for tokens that are trained on and kept. [N] */
  readonly kept: Uint8Array;
  readonly metrics: Metrics;
}

/**
 * Selects the tokens to keep. Candidates are trained tokens with A > 0 and d > 0, or A < 0 and d <
 * 0. Training on these moves the policy further away from the old policy. If the mean of d^2 over
 * the candidates exceeds `threshold`, the candidates are sorted by ascending d^2, with ties in
 * batch order. The longest prefix whose mean d^2 does not exceed `threshold` is kept, and the other
 * candidates are removed. All other trained tokens are kept.
 *
 * Metrics `m2_before`, `m2_after`, `masked_fraction`, `trust_region_fraction`.
 */
export function trustMask(input: LossInput, threshold: number): TrustMask {
  const { squares, size, total, trained } = candidateSquares(input);
  const prefix =
    total <= threshold * size
      ? { kept: input.actionMask, size, total }
      : longestPrefix(input.actionMask, squares, threshold);
  const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
  return {
    kept: prefix.kept,
    metrics: {
      m2_before: share(total, size),
      m2_after: share(prefix.total, prefix.size),
      masked_fraction: share(size - prefix.size, trained),
      trust_region_fraction: share(size, trained),
    },
  };
}

interface Squares {
  /** d^2 of the candidates, -1 for other tokens. [N] */
  readonly squares: Float32Array;
  /** Number of candidates. `total` is the sum of d^2 over the candidates. */
  readonly size: number;
  readonly total: number;
  /** Number of trained tokens, including those that are not candidates. */
  readonly trained: number;
}

function candidateSquares(input: LossInput): Squares {
  const { actionMask, advantages, currentLogprobs, oldLogprobs } = input;
  const squares = new Float32Array(actionMask.length).fill(-1);
  let [size, total, trained] = [0, 0, 0];
  for (let t = 0; t < squares.length; t++) {
    if (actionMask[t] === 0) continue;
    trained++;
    const d = currentLogprobs[t]! - oldLogprobs[t]!;
    if (advantages[t]! * d <= 0) continue;
    squares[t] = d * d;
    size++;
    total += d * d;
  }
  return { squares, size, total, trained };
}

function longestPrefix(
  actionMask: Uint8Array,
  squares: Float32Array,
  threshold: number,
): { readonly kept: Uint8Array; readonly size: number; readonly total: number } {
  const ranked = [...squares.keys()]
    .filter((t) => squares[t]! >= 0)
    .sort((a, b) => squares[a]! - squares[b]!);
  let [size, total] = [0, 0];
  for (const t of ranked) {
    if ((total + squares[t]!) / (size + 1) > threshold) break;
    total += squares[t]!;
    size++;
  }
  const kept = actionMask.slice();
  for (const t of ranked.slice(size)) kept[t] = 0;
  return { kept, size, total };
}
