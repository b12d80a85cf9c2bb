/** How the losses of tokens become one number: a weight per token, normalised over the whole optimizer batch. */
import type { LossInput } from '@trinity-rft/core';

/** As in YAML. */
export const lossAggModes = ['token-mean', 'seq-mean-token-sum', 'seq-mean-token-mean', 'seq-mean-token-sum-norm'] as const;
export type LossAggMode = (typeof lossAggModes)[number];

/** Keeps an empty batch from dividing by zero; the value of the original. */
const epsilon = 1e-8;

/**
 * Weight w of every token, so that the aggregate of token losses l is sum(w * l) and its gradient is w * dl/dx. Masked tokens
 * weigh 0. With B rows, M trained tokens in all and M_i in row i:
 *
 * | mode | w |
 * |---|---|
 * | `token-mean` | 1 / (M + epsilon) |
 * | `seq-mean-token-sum` | 1 / B |
 * | `seq-mean-token-mean` | 1 / (B * (M_i + epsilon)); a row without trained tokens counts as 0 in the mean |
 * | `seq-mean-token-sum-norm` | 1 / (norm + epsilon), norm = response length of the longest row |
 *
 * B, M and norm are those of the whole optimizer batch, so that the result does not depend on how an engine packs rows. The
 * original normalises within each micro-batch, where short ones weigh too much.
 * @param norm of the last mode. @default the longest row
 * @returns [N]
 */
export function aggregationWeights(input: Pick<LossInput, 'offsets' | 'actionMask'>, mode: LossAggMode, norm?: number): Float64Array {
  const { offsets, actionMask } = input;
  const rows = offsets.length - 1;
  const weights = new Float64Array(actionMask.length);
  const total = count(actionMask, 0, actionMask.length);
  const longest = norm ?? longestRow(offsets);
  for (let row = 0; row < rows; row++) {
    const [start, end] = [offsets[row]!, offsets[row + 1]!];
    const weight = weightOf[mode]({ rows, total, longest, inRow: count(actionMask, start, end) });
    for (let t = start; t < end; t++) if (actionMask[t] === 1) weights[t] = weight;
  }
  return weights;
}

interface Sizes {
  readonly rows: number;
  readonly total: number;
  readonly longest: number;
  readonly inRow: number;
}

const weightOf: Readonly<Record<LossAggMode, (sizes: Sizes) => number>> = {
  'token-mean': ({ total }) => 1 / (total + epsilon),
  'seq-mean-token-sum': ({ rows }) => 1 / rows,
  'seq-mean-token-mean': ({ rows, inRow }) => 1 / (rows * (inRow + epsilon)),
  'seq-mean-token-sum-norm': ({ longest }) => 1 / (longest + epsilon),
};

/** sum(w * v) over tokens of weight above 0, in float64; what masked tokens hold has no influence, not even NaN. */
export function aggregateLoss(values: ArrayLike<number>, weights: Float64Array): number {
  let sum = 0;
  for (let t = 0; t < weights.length; t++) if (weights[t] !== 0) sum += weights[t]! * values[t]!;
  return sum;
}

/** Mean over trained tokens: sum(v) / (M + epsilon). What metrics use, whatever the mode of the loss. */
export function maskedMean(values: ArrayLike<number>, actionMask: Uint8Array): number {
  let sum = 0;
  for (let t = 0; t < actionMask.length; t++) if (actionMask[t] === 1) sum += values[t]!;
  return sum / (count(actionMask, 0, actionMask.length) + epsilon);
}

function count(actionMask: Uint8Array, start: number, end: number): number {
  let sum = 0;
  for (let t = start; t < end; t++) sum += actionMask[t]!;
  return sum;
}

function longestRow(offsets: Int32Array): number {
  let longest = 0;
  for (let row = 1; row < offsets.length; row++) longest = Math.max(longest, offsets[row]! - offsets[row - 1]!);
  return longest;
}
