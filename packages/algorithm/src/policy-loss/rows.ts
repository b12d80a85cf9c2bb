/** Log-ratios of whole rows. */
import type { LossInput } from '@trinity-rft/core';
import { boundLogRatio } from './define.js';

/** As in the original; an empty row has log-ratio 0. */
const epsilon = 1e-8;

/**
 * d = current - old log-probability over the trained tokens of each row: their sum, the log-ratio of the whole answer, or their
 * mean, that of an average token. Within `largestLogRatio`.
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

/** The number of its row for every token. @returns [N] */
export function spread(rows: Float64Array, offsets: Int32Array): Float64Array {
  const tokens = new Float64Array(offsets.at(-1)!);
  for (let row = 0; row < rows.length; row++) tokens.fill(rows[row]!, offsets[row], offsets[row + 1]);
  return tokens;
}
