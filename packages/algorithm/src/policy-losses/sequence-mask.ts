/**
 * Masks tokens with a negative advantage in rows from which the policy has drifted away, because
 * training on them would increase the drift.
 */
import type { LossInput } from '@trinity-rft/core';
import type { RowQuantities, TokenLoss } from '../parts/token-loss.js';

export interface SequenceMaskOptions {
  /** Tokens with a negative advantage are masked in rows whose drift exceeds this value. */
  readonly deltaSequenceMasking: number;
  /** True to treat the drift of every row as 0. */
  readonly fallbackToPolicyGradient: boolean;
}

/**
 * Wraps a loss such that it is 0 for tokens with A < 0 in rows whose drift is above delta. The
 * drift is the mean of -d over trained tokens. Masked tokens still count in all denominators and in
 * the metrics of the loss. Adds the metrics `seq_mask/masked_tokens` and
 * `seq_mask/mean_sequence_kl` (mean drift of the rows). `seq_mask/masked_tokens` counts tokens with
 * A < 0 in such rows, including untrained ones. It is divided by the number of trained tokens, so
 * it may exceed 1.
 * @see DeepSeek-V3.2, arXiv:2512.02556 (off-policy sequence masking)
 */
export function sequenceMasked(
  loss: TokenLoss,
  { deltaSequenceMasking: delta, fallbackToPolicyGradient: onPolicy }: SequenceMaskOptions,
): TokenLoss {
  const driftOf = (row: RowQuantities): number => (onPolicy ? 0 : row.drift);
  return {
    ...loss,
    tokenMeans: [...loss.tokenMeans, 'seq_mask/masked_tokens'],
    rowMeans: [...loss.rowMeans, 'seq_mask/mean_sequence_kl'],
    prepare: (input): State => ({ input, inner: loss.prepare(input) }),
    row: (row, out, state) => {
      const { input, inner } = state as State;
      loss.row?.(row, out, inner);
      out.sums['seq_mask/mean_sequence_kl']! += driftOf(row);
      if (driftOf(row) > delta)
        out.sums['seq_mask/masked_tokens']! += countNegative(input, row.index);
    },
    token: (token, out, state) => {
      loss.token(token, out, (state as State).inner);
      if (token.advantage >= 0 || driftOf(token.row) <= delta) return;
      out.loss = 0;
      out.gradient = 0;
    },
  };
}

interface State {
  readonly input: LossInput;
  /** State of the loss that is wrapped. */
  readonly inner: unknown;
}

/**
 * Returns the number of tokens of a row with A < 0, including untrained ones, as in Trinity-RFT.
 */
function countNegative({ offsets, advantages }: LossInput, row: number): number {
  let negative = 0;
  for (const A of advantages.subarray(offsets[row], offsets[row + 1])) if (A < 0) negative++;
  return negative;
}
