/** Importance ratios of tokens and of whole rows. */
import type { LossInput } from '@trinity-rft/core';
import { blockSize } from '../aggregate.js';
import { boundLogRatio, ratioOf } from './define.js';

/** As in the original; an empty row has log-ratio 0. */
const epsilon = 1e-8;

/**
 * d = current - old log-probability over the trained tokens of each row: their sum, the log-ratio of the whole answer, or their
 * mean, that of an average token. Within 20.
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

/**
 * e^d of the trained tokens [from, to), d within 20, into the beginning of `into`: a buffer for all blocks, since one for each
 * keeps the garbage collector busy. A loop of its own, because a call of exp spills what the loops of losses keep in registers.
 * @param trained positions of `trainedTokens`. [M]
 */
export function tokenRatios(input: LossInput, trained: Int32Array, from: number, to: number, into: Float64Array): void {
  const { currentLogprobs, oldLogprobs } = input;
  for (let i = from; i < to; i++) {
    const t = trained[i]!;
    into[i - from] = ratioOf(currentLogprobs[t]! - oldLogprobs[t]!);
  }
}

/**
 * e^d of each trained token, or of its row: of the whole answer (`sum`) or of its average token (`mean`). d within 20.
 * @param trained positions of `trainedTokens`. [M]
 * @returns [M]
 */
export function importanceRatios(input: LossInput, trained: Int32Array, of: 'token' | 'sum' | 'mean' = 'token'): Float64Array {
  const ratios = new Float64Array(trained.length);
  if (of === 'token') {
    for (let from = 0; from < ratios.length; from += blockSize) {
      const to = Math.min(from + blockSize, ratios.length);
      tokenRatios(input, trained, from, to, ratios.subarray(from, to));
    }
    return ratios;
  }
  const { offsets } = input;
  const rows = rowLogRatios(input, of);
  for (let row = 0, i = 0; row < rows.length; row++) {
    const ratio = Math.exp(rows[row]!);
    for (; i < ratios.length && trained[i]! < offsets[row + 1]!; i++) ratios[i] = ratio;
  }
  return ratios;
}
