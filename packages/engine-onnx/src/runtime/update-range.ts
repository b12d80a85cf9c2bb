/**
 * Computes AdamW updates of ranges of flat arrays, in float64. Results are rounded to float32 when
 * they are stored.
 */
import type { UpdateOperands, UpdatePlan } from './graph-runtime.js';

export type UpdateArrays = UpdateOperands<Float32Array>;

/** Range of the flat arrays, from `start` up to, but not including, `end`. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** An update plan, and the sizes of the tensors in the flat arrays, in order. */
export interface FlatUpdate extends UpdatePlan {
  readonly sizes: readonly number[];
}

/** Updates the weights and moments in `range`. */
export function updateRange(arrays: UpdateArrays, update: FlatUpdate, range: Range): void {
  let offset = 0;
  for (const [i, size] of update.sizes.entries()) {
    const start = Math.max(offset, range.start);
    offset += size;
    const end = Math.min(offset, range.end);
    if (start >= end) continue;
    const part = (array: Float32Array) => array.subarray(start, end);
    const { from, to, gradient, first, second } = arrays;
    updateTensor(part(from), part(to), part(gradient), part(first), part(second), {
      ...update,
      keep: update.keep[i]!,
    });
  }
}

function updateTensor(
  from: Float32Array,
  to: Float32Array,
  gradient: Float32Array,
  first: Float32Array,
  second: Float32Array,
  {
    betas: [beta1, beta2],
    epsilon,
    gradientScale,
    keep,
    stepSize,
    rootCorrection,
  }: UpdatePlan<number>,
): void {
  for (let i = 0; i < from.length; i++) {
    const g = gradient[i]! * gradientScale;
    const m = beta1 * first[i]! + (1 - beta1) * g;
    const v = beta2 * second[i]! + (1 - beta2) * g * g;
    first[i] = m;
    second[i] = v;
    to[i] = from[i]! * keep - (stepSize * m) / (Math.sqrt(v) / rootCorrection + epsilon);
  }
}
