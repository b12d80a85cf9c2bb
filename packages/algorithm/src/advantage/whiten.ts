/** Advantages of mean 0 and deviation 1 over the trained tokens of a batch. */

import { eachBlock } from '../visit.js';

/** Keeps equal values from dividing by zero; the value of the original. */
const epsilon = 1e-8;

/** Of the values of trained tokens. */
export interface TrainedMean {
  readonly trained: number;
  /** NaN where there are none. */
  readonly mean: number;
}

/**
 * In place: (v - mean) / sqrt(var + 1e-8), mean and variance (n - 1) over tokens where the mask is 1, in float64. A single trained
 * token keeps its value, as does everything where there is none. [N]
 * @param masked what becomes of masked tokens: they are shifted and scaled with the others, or set to 0
 * @returns what was taken off
 */
export function whiten(values: Float32Array, actionMask: Uint8Array, masked: 'scaled' | 'zero' = 'scaled'): TrainedMean {
  const before = trainedMean(values, actionMask);
  const { trained, mean } = before;
  let squares = 0;
  if (trained > 1)
    eachBlock(values.length, (from, to) => (squares += squaresOf(values.subarray(from, to), actionMask.subarray(from, to), mean)));
  const [shift, scale] = trained > 1 ? [mean, 1 / Math.sqrt(squares / (trained - 1) + epsilon)] : [0, 1];
  eachBlock(values.length, (from, to) => {
    const part = values.subarray(from, to);
    if (masked === 'zero') standardiseTrained(part, actionMask.subarray(from, to), shift, scale);
    else standardise(part, shift, scale);
  });
  return before;
}

/** Metric `returns/mean`: over tokens where the mask is 1; absent where there are none. Returns are finite on all tokens. */
export const returnMetrics = ({ trained, mean }: TrainedMean): { readonly 'returns/mean'?: number } =>
  trained === 0 ? {} : { 'returns/mean': mean };

export function trainedMean(values: Float32Array, actionMask: Uint8Array): TrainedMean {
  const total = { trained: 0, sum: 0 };
  eachBlock(values.length, (from, to) => addTrained(values.subarray(from, to), actionMask.subarray(from, to), total));
  return { trained: total.trained, mean: total.sum / total.trained };
}

function addTrained(values: Float32Array, actionMask: Uint8Array, total: { trained: number; sum: number }): void {
  let trained = 0;
  let sum = 0;
  for (let t = 0; t < values.length; t++) {
    trained += actionMask[t]!;
    sum += actionMask[t]! * values[t]!;
  }
  total.trained += trained;
  total.sum += sum;
}

function squaresOf(values: Float32Array, actionMask: Uint8Array, mean: number): number {
  let sum = 0;
  for (let t = 0; t < values.length; t++) {
    const distance = (values[t]! - mean) * actionMask[t]!;
    sum += distance * distance;
  }
  return sum;
}

function standardise(values: Float32Array, mean: number, scale: number): void {
  for (let t = 0; t < values.length; t++) values[t] = (values[t]! - mean) * scale;
}

function standardiseTrained(values: Float32Array, actionMask: Uint8Array, mean: number, scale: number): void {
  for (let t = 0; t < values.length; t++) values[t] = actionMask[t] === 0 ? 0 : (values[t]! - mean) * scale;
}
