/** Leaves out what would push the policy further from rows that it has moved away from. */
import type { LossInput, Metrics } from '@trinity-rft/core';

export interface SequenceMask {
  /** 1 = left out. [N] */
  readonly tokens: Uint8Array;
  readonly metrics: Metrics;
}

/**
 * Tokens with A < 0 in rows whose mean of -d over trained tokens exceeds `delta`. They lose their loss but stay in every
 * denominator. Metrics `seq_mask/masked_tokens` (per trained token) and `seq_mask/mean_sequence_kl` (mean of the rows' means).
 *
 * Masked tokens count in the first metric when their advantage is negative, as in the original; stored advantages are 0 there.
 * @param logRatios d, 0 where the mask is 0. [N]
 * @see DeepSeek-V3.2, arXiv:2512.02556 (off-policy sequence masking)
 */
export function sequenceMask(input: LossInput, logRatios: Float64Array, delta: number): SequenceMask {
  const { offsets, actionMask, advantages } = input;
  const tokens = new Uint8Array(actionMask.length);
  const rows = offsets.length - 1;
  let [klSum, trainedSum, leftOut] = [0, 0, 0];
  for (let row = 0; row < rows; row++) {
    const [start, end] = [offsets[row]!, offsets[row + 1]!];
    let [sum, trained] = [0, 0];
    for (let t = start; t < end; t++) [sum, trained] = [sum - logRatios[t]!, trained + actionMask[t]!];
    const kl = sum / (trained + epsilon);
    for (let t = start; t < end; t++) if (kl > delta && advantages[t]! < 0) [tokens[t], leftOut] = [1, leftOut + 1];
    [klSum, trainedSum] = [klSum + kl, trainedSum + trained];
  }
  return {
    tokens,
    metrics: { 'seq_mask/masked_tokens': leftOut / (trainedSum + epsilon), 'seq_mask/mean_sequence_kl': rows === 0 ? 0 : klSum / rows },
  };
}

/** As in the original; other means use 1e-8. */
const epsilon = 1e-10;
