/** Advantages of mean 0 and deviation 1 over the trained tokens of a batch. */

import { eachBlock } from '../parts/visit.js';

/** Keeps equal values from dividing by zero; the value of the original. */
const epsilon = 1e-8;

/** Of the values of trained tokens. */
export interface TrainedMean {
  readonly trained: number;
  /** NaN where there are none. */
  readonly mean: number;
}

/**
 * In place: (v - mean) / sqrt(var + 1e-8), mean and variance (n - 1) over tokens where the mask is
 * 1, in float64. A single trained token keeps its value, as does everything where there is none.
 * [N]
 * @param masked what becomes of masked tokens: they are shifted and scaled with the others, or set
 * to 0
 * @returns what was taken off
 */
export function whiten(
  values: Float32Array,
  actionMask: Uint8Array,
  masked: 'scaled' | 'zero' = 'scaled',
): TrainedMean {
  const { squares, ...before } = moments(values, actionMask);
  const { trained, mean } = before;
  const [shift, scale] =
    trained > 1 ? [mean, 1 / Math.sqrt(squares / (trained - 1) + epsilon)] : [0, 1];
  eachBlock(values.length, (from, to) => {
    const part = values.subarray(from, to);
    if (masked === 'zero') standardiseTrained(part, actionMask.subarray(from, to), shift, scale);
    else standardise(part, shift, scale);
  });
  return before;
}

/**
 * Metric `returns/mean`: over tokens where the mask is 1; absent where there are none. Returns are
 * finite on all tokens.
 */
export const returnMetrics = ({
  trained,
  mean,
}: TrainedMean): { readonly 'returns/mean'?: number } =>
  trained === 0 ? {} : { 'returns/mean': mean };

export function trainedMean(values: Float32Array, actionMask: Uint8Array): TrainedMean {
  const { trained, mean } = moments(values, actionMask);
  return { trained, mean };
}

interface Moments extends TrainedMean {
  /** Sum of the squared distances from the mean. */
  readonly squares: number;
}

/**
 * In one pass, around one of the values: what they have in common does not cost the digits in which
 * they differ.
 */
function moments(values: Float32Array, actionMask: Uint8Array): Moments {
  const pivot = values[actionMask.indexOf(1)] ?? 0;
  const total = { trained: 0, sum: 0, squares: 0 };
  eachBlock(values.length, (from, to) =>
    addTrained(values.subarray(from, to), actionMask.subarray(from, to), pivot, total),
  );
  const { trained, sum, squares } = total;
  return {
    trained,
    mean: pivot + sum / trained,
    squares: Math.max(0, squares - (sum * sum) / trained),
  };
}

function addTrained(
  values: Float32Array,
  actionMask: Uint8Array,
  pivot: number,
  total: { trained: number; sum: number; squares: number },
): void {
  let [trained, sum, squares] = [0, 0, 0];
  for (let t = 0; t < values.length; t++) {
    const distance = (values[t]! - pivot) * actionMask[t]!;
    trained += actionMask[t]!;
    sum += distance;
    squares += distance * distance;
  }
  total.trained += trained;
  total.sum += sum;
  total.squares += squares;
}

function standardise(values: Float32Array, mean: number, scale: number): void {
  for (let t = 0; t < values.length; t++) values[t] = (values[t]! - mean) * scale;
}

function standardiseTrained(
  values: Float32Array,
  actionMask: Uint8Array,
  mean: number,
  scale: number,
): void {
  for (let t = 0; t < values.length; t++)
    values[t] = actionMask[t] === 0 ? 0 : (values[t]! - mean) * scale;
}
