/** Which tokens `m2po` keeps: a prefix by rising squared log-ratio, found without sorting the batch. */
import type { LossInput, Metrics } from '@trinity-rft/core';
import { blockSize, trainedTokens } from '../aggregate.js';

export interface TrustMask {
  /** 1 = trained and kept. [N] */
  readonly kept: Uint8Array;
  readonly metrics: Metrics;
}

/** Squares are sorted into buckets by the upper half of their float32 bits, which rise with the value. */
const buckets = 1 << 16;

/**
 * In question are trained tokens with A > 0 and d > 0, or A < 0 and d < 0: those that the advantage pushes further away. When
 * the mean of d^2 over them is above `threshold`, only the longest prefix by rising d^2 whose mean is not stays; equal ones
 * rank in order of the batch.
 *
 * Metrics `m2_before`, `m2_after`, `masked_fraction`, `trust_region_fraction`.
 */
export function trustMask(input: LossInput, threshold: number): TrustMask {
  const { actionMask } = input;
  const { squares, total, inQuestion, trained } = squaresInQuestion(input);
  const isTrusted = inQuestion === 0 || total / inQuestion <= threshold;
  const { kept, sum, rank } = isTrusted
    ? { kept: actionMask, sum: total, rank: inQuestion }
    : longestPrefix(actionMask, squares, threshold);
  const of = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
  const moments = { m2_before: of(total, inQuestion), m2_after: of(sum, rank) };
  return { kept, metrics: { ...moments, masked_fraction: of(inQuestion - rank, trained), trust_region_fraction: of(inQuestion, trained) } };
}

/** Takes whole buckets while their mean allows it, then tokens of the next one in order. */
function longestPrefix(actionMask: Uint8Array, squares: Float32Array, threshold: number): { kept: Uint8Array; sum: number; rank: number } {
  const [sums, counts] = [new Float64Array(buckets), new Uint32Array(buckets)];
  const bits = new Uint32Array(squares.buffer);
  for (let t = 0; t < squares.length; t++) {
    sums[bits[t]! >>> 16]! += squares[t]!;
    if (squares[t] !== 0) counts[bits[t]! >>> 16]!++;
  }
  let [sum, rank, cut] = [0, 0, 0];
  while (sum + sums[cut]! <= threshold * (rank + counts[cut]!)) {
    sum += sums[cut]!;
    rank += counts[cut++]!;
  }
  const kept = actionMask.slice();
  const last = [];
  for (let t = 0; t < kept.length; t++) {
    const bucket = bits[t]! >>> 16;
    if (bucket < cut || squares[t] === 0) continue;
    kept[t] = 0;
    if (bucket === cut) last.push(t);
  }
  for (const t of last.sort((a, b) => squares[a]! - squares[b]!)) {
    if ((sum + squares[t]!) / (rank + 1) > threshold) break;
    sum += squares[t]!;
    rank++;
    kept[t] = 1;
  }
  return { kept, sum, rank };
}

interface Squares {
  /** d^2 of tokens in question, 0 for others. [N] */
  readonly squares: Float32Array;
  /** Their sum. */
  readonly total: number;
  readonly inQuestion: number;
  readonly trained: number;
}

function squaresInQuestion({ actionMask, advantages, currentLogprobs, oldLogprobs }: LossInput): Squares {
  const squares = new Float32Array(actionMask.length);
  const trained = trainedTokens(actionMask);
  let [total, inQuestion] = [0, 0];
  for (let from = 0; from < trained.length; from += blockSize) {
    const to = Math.min(from + blockSize, trained.length);
    for (let i = from; i < to; i++) {
      const t = trained[i]!;
      const d = currentLogprobs[t]! - oldLogprobs[t]!;
      const advantage = advantages[t]!;
      // Both signs, not the sign of the product, which may be too small a number.
      if (advantage > 0 ? d <= 0 : !(advantage < 0 && d < 0)) continue;
      // The square of a tiny difference is 0 in float32, and the token would no longer be in question.
      const square = Math.fround(Math.max(d * d, 2 ** -126));
      squares[t] = square;
      total += square;
      inQuestion++;
    }
  }
  return { squares, total, inQuestion, trained: trained.length };
}
