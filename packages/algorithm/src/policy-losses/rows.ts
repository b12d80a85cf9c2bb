/** Importance ratios of tokens and of whole rows. */
import type { LossInput } from '@trinity-rft/core';
import type { TokenBlock } from '../parts/token-block.js';
import { boundLogRatio, ratiosOf } from '../parts/policy-loss-part.js';

/** As in the original; an empty row has log-ratio 0. */
const epsilon = 1e-8;

/**
 * d = current - old log-probability over the trained tokens of each row: their sum, the log-ratio
 * of the whole answer, or their mean, that of an average token. Within 20.
 * @returns [B]
 */
export function rowLogRatios(input: LossInput, kind: 'mean' | 'sum'): Float64Array {
  const { offsets, actionMask, currentLogprobs, oldLogprobs } = input;
  const rows = new Float64Array(offsets.length - 1);
  for (let row = 0; row < rows.length; row++) {
    let [sum, trained] = [0, 0];
    for (let t = offsets[row]!; t < offsets[row + 1]!; t++) {
      if (actionMask[t] === 0) continue;
      sum += currentLogprobs[t]! - oldLogprobs[t]!;
      trained++;
    }
    rows[row] = boundLogRatio(kind === 'sum' ? sum : sum / (trained + epsilon));
  }
  return rows;
}

/** e^d of whole rows, d as in {@link rowLogRatios}. [B] */
export const rowRatios = (input: LossInput, kind: 'mean' | 'sum'): Float64Array =>
  rowLogRatios(input, kind).map(Math.exp);

/** e^d of each token, or of its row, as `ofRows` has it; d within 20. */
export function importanceRatios(
  block: TokenBlock,
  ofRows: Float64Array | undefined,
): Float64Array {
  if (!ofRows) return ratiosOf(block);
  const { size, row, exp } = block;
  for (let i = 0; i < size; i++) exp[i] = ofRows[row[i]!]!;
  return exp;
}
