/** Which tokens `m2po` keeps: a prefix by rising squared log-ratio, found without sorting the batch. */
import type { LossInput, Metrics } from '@trinity-rft/core';

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
  const kept = actionMask.slice();
  const squares = squaresInQuestion(input);
  const [sums, counts] = [new Float64Array(buckets), new Uint32Array(buckets)];
  const bits = new Uint32Array(squares.buffer);
  let [total, inQuestion, trained] = [0, 0, 0];
  for (let t = 0; t < kept.length; t++) {
    trained += actionMask[t]!;
    if (squares[t] === 0) continue;
    const bucket = bits[t]! >>> 16;
    sums[bucket]! += squares[t]!;
    counts[bucket]!++;
    total += squares[t]!;
    inQuestion++;
  }
  let [sum, rank] = [total, inQuestion];
  if (inQuestion > 0 && total / inQuestion > threshold) {
    [sum, rank] = [0, 0];
    let cut = 0;
    while (sum + sums[cut]! <= threshold * (rank + counts[cut]!)) [sum, rank] = [sum + sums[cut]!, rank + counts[cut++]!];
    const last = [];
    for (let t = 0; t < kept.length; t++) {
      if (squares[t] === 0) continue;
      const bucket = bits[t]! >>> 16;
      if (bucket >= cut) kept[t] = 0;
      if (bucket === cut) last.push(t);
    }
    for (const t of last.sort((a, b) => squares[a]! - squares[b]!)) {
      if ((sum + squares[t]!) / (rank + 1) > threshold) break;
      [sum, rank] = [sum + squares[t]!, rank + 1];
      kept[t] = 1;
    }
  }
  const of = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
  const moments = { m2_before: of(total, inQuestion), m2_after: of(sum, rank) };
  return { kept, metrics: { ...moments, masked_fraction: of(inQuestion - rank, trained), trust_region_fraction: of(inQuestion, trained) } };
}

/** d^2 of tokens in question, 0 for others. [N] */
function squaresInQuestion({ actionMask, advantages, currentLogprobs, oldLogprobs }: LossInput): Float32Array {
  const squares = new Float32Array(actionMask.length);
  for (let t = 0; t < squares.length; t++) {
    if (actionMask[t] === 0) continue;
    const [d, advantage] = [currentLogprobs[t]! - oldLogprobs[t]!, advantages[t]!];
    // A difference of two float32 numbers may be too small to square in float32, and would no longer be in question.
    if ((advantage > 0 && d > 0) || (advantage < 0 && d < 0)) squares[t] = Math.max(d * d, 2 ** -126);
  }
  return squares;
}
