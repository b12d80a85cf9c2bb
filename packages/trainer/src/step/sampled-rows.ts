/**
 * Extracts the rows of a batch that the policy sampled, without demonstrations, as a separate
 * batch.
 */
import { isExpert } from '@trinity-rft/core';
import { packBatch, type PackedBatch } from './pack.js';

export interface SampledRows {
  readonly batch: PackedBatch;
  /** Selects the entries of sampled rows from per-token values of the whole batch. [N] -> [n] */
  readonly gather: (values: Float32Array) => Float32Array;
  /**
   * Returns a copy of `into` in which the entries of sampled rows are replaced by `values`. [n] ->
   * [N]
   * @param into per-token values of the whole batch; the entries of demonstrations are kept
   */
  readonly scatter: <A extends Float32Array | Uint8Array>(values: A, into: A) => A;
}

/** Returns the sampled rows of a batch. A batch without demonstrations is not copied. */
export function sampledRows(whole: PackedBatch): SampledRows {
  if (!whole.expertMask.includes(1))
    return { batch: whole, gather: (values) => values, scatter: (values) => values };
  const batch = packBatch(whole.experiences.filter((experience) => !isExpert(experience)));
  const spans = whole.calls.filter((_, row) => whole.expertMask[row] === 0);
  return {
    batch,
    gather: (values) => {
      const out = new Float32Array(batch.static.actionMask.length);
      for (const [row, { start, end }] of spans.entries())
        out.set(values.subarray(start, end), batch.static.offsets[row]);
      return out;
    },
    scatter: (values, into) => {
      const out = into.slice() as typeof values;
      const { offsets } = batch.static;
      for (const [row, { start }] of spans.entries())
        out.set(values.subarray(offsets[row], offsets[row + 1]), start);
      return out;
    },
  };
}
