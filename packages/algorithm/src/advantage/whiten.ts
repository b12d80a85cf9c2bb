/** Advantages of mean 0 and deviation 1 over the trained tokens of a batch. */

/** Keeps equal values from dividing by zero; the value of the original. */
const epsilon = 1e-8;

/**
 * (v - mean) / sqrt(var + 1e-8), mean and variance (n - 1) over tokens where the mask is 1; masked tokens are shifted and scaled
 * with the others. A single trained token keeps its value, as does everything where there is none. [N]
 */
export function whiten(values: Float64Array, actionMask: Uint8Array): Float32Array {
  let count = 0;
  let sum = 0;
  for (let t = 0; t < values.length; t++) {
    if (actionMask[t] === 0) continue;
    count++;
    sum += values[t]!;
  }
  if (count <= 1) return Float32Array.from(values);
  const mean = sum / count;
  let squares = 0;
  for (let t = 0; t < values.length; t++) {
    if (actionMask[t] === 0) continue;
    const distance = values[t]! - mean;
    squares += distance * distance;
  }
  const scale = 1 / Math.sqrt(squares / (count - 1) + epsilon);
  const out = new Float32Array(values.length);
  for (let t = 0; t < values.length; t++) out[t] = (values[t]! - mean) * scale;
  return out;
}

/** Metric `returns/mean`: over tokens where the mask is 1; absent where there are none. */
export function returnMetrics(returns: Float32Array, actionMask: Uint8Array): { readonly 'returns/mean'?: number } {
  let count = 0;
  let sum = 0;
  for (let t = 0; t < returns.length; t++) {
    if (actionMask[t] === 0) continue;
    count++;
    sum += returns[t]!;
  }
  return count === 0 ? {} : { 'returns/mean': sum / count };
}
