/** Leaves out what would push the policy further from rows that it has moved away from. */
import type { LossInput, Metrics } from '@trinity-rft/core';
import { boundLogRatio } from '../parts/policy-loss-part.js';

export interface SequenceMask {
  /** 1 = tokens of negative advantage are left out. [B] */
  readonly rows: Uint8Array;
  readonly metrics: Metrics;
}

/**
 * Tokens with A < 0 in rows whose mean of -d over trained tokens exceeds delta. They lose their
 * loss but stay in every denominator. Metrics `seq_mask/masked_tokens` (per trained token) and
 * `seq_mask/mean_sequence_kl` (mean of the rows' means).
 *
 * Masked tokens count in the first metric when their advantage is negative, as in the original;
 * stored advantages are 0 there.
 * @param onPolicy takes d as 0
 * @see DeepSeek-V3.2, arXiv:2512.02556 (off-policy sequence masking)
 */
export function sequenceMask(
  { offsets, actionMask, advantages, currentLogprobs, oldLogprobs }: LossInput,
  delta: number,
  onPolicy = false,
): SequenceMask {
  const rows = new Uint8Array(offsets.length - 1);
  let [klSum, trainedSum, leftOut] = [0, 0, 0];
  for (let row = 0; row < rows.length; row++) {
    const [start, end] = [offsets[row]!, offsets[row + 1]!];
    let [sum, trained] = [0, 0];
    for (let t = start; t < end; t++) {
      if (actionMask[t] === 0) continue;
      if (!onPolicy) sum -= boundLogRatio(currentLogprobs[t]! - oldLogprobs[t]!);
      trained++;
    }
    const kl = sum / (trained + epsilon);
    if (kl > delta) rows[row] = 1;
    for (let t = start; kl > delta && t < end; t++) if (advantages[t]! < 0) leftOut++;
    klSum += kl;
    trainedSum += trained;
  }
  return {
    rows,
    metrics: {
      'seq_mask/masked_tokens': leftOut / (trainedSum + epsilon),
      'seq_mask/mean_sequence_kl': rows.length === 0 ? 0 : klSum / rows.length,
    },
  };
}

/** As in the original; other means use 1e-8. */
const epsilon = 1e-10;
