/** Advantages of mean 0 and deviation 1 over the trained tokens of a batch. */

import { eachBlock } from '../visit.js';

/** Keeps equal values from dividing by zero; the value of the original. */
const epsilon = 1e-8;

/**
 * In place: (v - mean) / sqrt(var + 1e-8), mean and variance (n - 1) over tokens where the mask is 1, in float64; masked tokens are
 * shifted and scaled with the others. A single trained token keeps its value, as does everything where there is none. [N]
 */
export function whiten(values: Float32Array, actionMask: Uint8Array): void {
  const { count, mean } = trainedMean(values, actionMask);
  if (count <= 1) return;
  let squares = 0;
  eachBlock(values.length, (from, to) => {
    let sum = 0;
    for (let t = from; t < to; t++) {
      const distance = (values[t]! - mean) * actionMask[t]!;
      sum += distance * distance;
    }
    squares += sum;
  });
  const scale = 1 / Math.sqrt(squares / (count - 1) + epsilon);
  eachBlock(values.length, (from, to) => {
    for (let t = from; t < to; t++) values[t] = (values[t]! - mean) * scale;
  });
}

/** Metric `returns/mean`: over tokens where the mask is 1; absent where there are none. Returns are finite on all tokens. */
export function returnMetrics(returns: Float32Array, actionMask: Uint8Array): { readonly 'returns/mean'?: number } {
  const { count, mean } = trainedMean(returns, actionMask);
  return count === 0 ? {} : { 'returns/mean': mean };
}

function trainedMean(values: Float32Array, actionMask: Uint8Array): { readonly count: number; readonly mean: number } {
  let [count, sum] = [0, 0];
  eachBlock(values.length, (from, to) => {
    let trained = 0;
    let inBlock = 0;
    for (let t = from; t < to; t++) {
      trained += actionMask[t]!;
      inBlock += actionMask[t]! * values[t]!;
    }
    count += trained;
    sum += inBlock;
  });
  return { count, mean: sum / count };
}
