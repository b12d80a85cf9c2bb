/**
 * Which tokens `m2po` keeps: a prefix by rising squared log-ratio, found without sorting the batch.
 */
import type { LossInput, Metrics } from '@trinity-rft/core';
import { eachBlock } from '../parts/visit.js';

export interface TrustMask {
  /** 1 = trained and kept. [N] */
  readonly kept: Uint8Array;
  readonly metrics: Metrics;
}

/**
 * Squares are sorted into buckets by the upper half of their float32 bits, which rise with the
 * value.
 */
const buckets = 1 << 16;

/**
 * In question are trained tokens with A > 0 and d > 0, or A < 0 and d < 0: those that the advantage
 * pushes further away. When the mean of d^2 over them is above `threshold`, only the longest prefix
 * by rising d^2 whose mean is not stays; equal ones rank in order of the batch.
 *
 * Metrics `m2_before`, `m2_after`, `masked_fraction`, `trust_region_fraction`.
 */
export function trustMask(input: LossInput, threshold: number): TrustMask {
  const { total, inQuestion, trained } = momentsInQuestion(input);
  const isTrusted = inQuestion === 0 || total / inQuestion <= threshold;
  const { kept, sum, rank } = isTrusted
    ? { kept: input.actionMask, sum: total, rank: inQuestion }
    : longestPrefix(input.actionMask, squaresInQuestion(input), threshold);
  const of = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
  const moments = { m2_before: of(total, inQuestion), m2_after: of(sum, rank) };
  return {
    kept,
    metrics: {
      ...moments,
      masked_fraction: of(inQuestion - rank, trained),
      trust_region_fraction: of(inQuestion, trained),
    },
  };
}

/** Takes whole buckets while their mean allows it, then tokens of the next one in order. */
function longestPrefix(
  actionMask: Uint8Array,
  squares: Float32Array,
  threshold: number,
): { kept: Uint8Array; sum: number; rank: number } {
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

interface Moments {
  /** Sum of d^2 over the tokens in question. */
  total: number;
  inQuestion: number;
  trained: number;
}

function momentsInQuestion({
  actionMask,
  advantages,
  currentLogprobs,
  oldLogprobs,
}: LossInput): Moments {
  const moments = { total: 0, inQuestion: 0, trained: 0 };
  eachBlock(actionMask.length, (from, to) => {
    const part = <A extends Float32Array | Uint8Array>(array: A): A =>
      array.subarray(from, to) as A;
    addMoments(
      part(actionMask),
      part(advantages),
      part(currentLogprobs),
      part(oldLogprobs),
      moments,
    );
  });
  return moments;
}

function addMoments(
  mask: Uint8Array,
  advantages: Float32Array,
  current: Float32Array,
  old: Float32Array,
  into: Moments,
): void {
  let total = 0;
  let inQuestion = 0;
  let trained = 0;
  for (let t = 0; t < mask.length; t++) {
    if (mask[t] === 0) continue;
    const d = current[t]! - old[t]!;
    // A number, not a branch, which a processor guesses wrong for every second token.
    const isPushed = Number(advantages[t]! * d > 0);
    total += isPushed * d * d;
    inQuestion += isPushed;
    trained++;
  }
  into.total += total;
  into.inQuestion += inQuestion;
  into.trained += trained;
}

/** d^2 of the tokens in question, 0 for others. [N] */
function squaresInQuestion({
  actionMask,
  advantages,
  currentLogprobs,
  oldLogprobs,
}: LossInput): Float32Array {
  const squares = new Float32Array(actionMask.length);
  eachBlock(squares.length, (from, to) => {
    for (let t = from; t < to; t++) {
      const d = currentLogprobs[t]! - oldLogprobs[t]!;
      // The square of a tiny difference is 0 in float32, and the token would no longer be in
      // question.
      if (actionMask[t] === 1 && advantages[t]! * d > 0) squares[t] = Math.max(d * d, 2 ** -126);
    }
  });
  return squares;
}
