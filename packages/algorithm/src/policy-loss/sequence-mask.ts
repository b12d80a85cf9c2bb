/** Leaves out what would push the policy further from rows that it has moved away from. */
import type { LossInput, Metrics } from '@trinity-rft/core';
import { boundLogRatio } from './define.js';

export interface SequenceMask {
  /** 1 = left out. [N] */
  readonly tokens: Uint8Array;
  readonly metrics: Metrics;
}

/**
 * Tokens with A < 0 in rows whose mean of -d over trained tokens exceeds delta. They lose their loss but stay in every
 * denominator. Metrics `seq_mask/masked_tokens` (per trained token) and `seq_mask/mean_sequence_kl` (mean of the rows' means).
 *
 * Masked tokens count in the first metric when their advantage is negative, as in the original; stored advantages are 0 there.
 * @see DeepSeek-V3.2, arXiv:2512.02556 (off-policy sequence masking)
 */
export function sequenceMask(input: LossInput, delta: number): SequenceMask {
  const { offsets, actionMask, advantages, currentLogprobs, oldLogprobs } = input;
  const tokens = new Uint8Array(actionMask.length);
  const rows = offsets.length - 1;
  let [klSum, trainedSum, leftOut] = [0, 0, 0];
  for (let row = 0; row < rows; row++) {
    const [start, end] = [offsets[row]!, offsets[row + 1]!];
    let [sum, trained] = [0, 0];
    for (let t = start; t < end; t++) {
      if (actionMask[t] === 0) continue;
      sum -= boundLogRatio(currentLogprobs[t]! - oldLogprobs[t]!);
      trained++;
    }
    const kl = sum / (trained + epsilon);
    for (let t = start; kl > delta && t < end; t++) {
      if (!(advantages[t]! < 0)) continue;
      tokens[t] = 1;
      leftOut++;
    }
    klSum += kl;
    trainedSum += trained;
  }
  return {
    tokens,
    metrics: { 'seq_mask/masked_tokens': leftOut / (trainedSum + epsilon), 'seq_mask/mean_sequence_kl': rows === 0 ? 0 : klSum / rows },
  };
}

/** As in the original; other means use 1e-8. */
const epsilon = 1e-10;
