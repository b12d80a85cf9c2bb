/** Whitens values: gives them mean 0 and deviation 1 over the trained tokens of a batch. */

/**
 * Added to the variance to prevent division by zero if all values are equal. The value is the same
 * as in Trinity-RFT.
 */
const epsilon = 1e-8;

/** Statistics over the tokens whose action mask is 1. All are 0 if there are no such tokens. */
export interface TrainedMoments {
  readonly trained: number;
  readonly mean: number;
  /** Sum of squared deviations from the mean. */
  readonly squares: number;
}

/** Returns the moments over the trained tokens, summed in float64. */
export function trainedMoments(
  values: Float32Array | Float64Array,
  actionMask: Uint8Array,
): TrainedMoments {
  let trained = 0;
  let sum = 0;
  for (let t = 0; t < values.length; t++) {
    if (actionMask[t] === 0) continue;
    trained++;
    sum += values[t]!;
  }
  if (trained === 0) return { trained: 0, mean: 0, squares: 0 };
  const mean = sum / trained;
  let squares = 0;
  for (let t = 0; t < values.length; t++)
    if (actionMask[t] === 1) squares += (values[t]! - mean) ** 2;
  return { trained, mean, squares };
}

/**
 * Replaces each value v in place with (v - mean) / sqrt(var + 1e-8), where mean and sample variance
 * (n - 1) are over the trained tokens. With fewer than two trained tokens, values are neither
 * shifted nor scaled. [N]
 * @param masked treatment of masked tokens: shifted and scaled like trained tokens, or always set
 * to 0
 * @returns moments before whitening
 */
export function whiten(
  values: Float32Array,
  actionMask: Uint8Array,
  masked: 'scaled' | 'zero' = 'scaled',
): TrainedMoments {
  const moments = trainedMoments(values, actionMask);
  const { trained, mean, squares } = moments;
  const isSpread = trained > 1;
  const shift = isSpread ? mean : 0;
  const scale = isSpread ? 1 / Math.sqrt(squares / (trained - 1) + epsilon) : 1;
  for (let t = 0; t < values.length; t++)
    values[t] = masked === 'zero' && actionMask[t] === 0 ? 0 : (values[t]! - shift) * scale;
  return moments;
}

/**
 * Returns the metric `returns/mean` over trained tokens, or no metric if there are no trained
 * tokens.
 */
export const returnMetrics = ({
  trained,
  mean,
}: Pick<TrainedMoments, 'trained' | 'mean'>): { readonly 'returns/mean'?: number } =>
  trained === 0 ? {} : { 'returns/mean': mean };
