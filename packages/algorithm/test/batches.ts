/** Batches derived from other batches: reordered rows, subsets, copies, inserted masked tokens. */
import type { LossInput } from '@trinity-rft/core';

export interface RowRange {
  readonly start: number;
  readonly end: number;
}

export const rowsOf = ({ offsets }: LossInput): readonly RowRange[] =>
  Array.from({ length: offsets.length - 1 }, (_, row) => ({
    start: offsets[row]!,
    end: offsets[row + 1]!,
  }));

/** Selects rows by number, in this order; a number may occur several times. */
export function permuteRows(input: LossInput, order: readonly number[]): LossInput {
  const rows = order.map((row) => rowsOf(input)[row]!);
  const floats = (values: Float32Array): Float32Array =>
    Float32Array.from(rows.flatMap(({ start, end }) => [...values.subarray(start, end)]));
  let end = 0;
  return {
    ...input,
    offsets: Int32Array.from([0, ...rows.map((row) => (end += row.end - row.start))]),
    actionMask: Uint8Array.from(
      rows.flatMap((row) => [...input.actionMask.subarray(row.start, row.end)]),
    ),
    currentLogprobs: floats(input.currentLogprobs),
    oldLogprobs: floats(input.oldLogprobs),
    refLogprobs: floats(input.refLogprobs!),
    advantages: floats(input.advantages),
    entropy: floats(input.entropy!),
    expertMask: Uint8Array.from(order, (row) => input.expertMask![row]!),
  };
}

export const sliceRows = (input: LossInput, from: number, to: number): LossInput =>
  permuteRows(
    input,
    Array.from({ length: to - from }, (_, i) => from + i),
  );

export function repeatRows(input: LossInput, times: number): LossInput {
  const rows = input.offsets.length - 1;
  return permuteRows(
    input,
    Array.from({ length: rows * times }, (_, i) => i % rows),
  );
}

/**
 * Inserts masked tokens with NaN and infinities before, within and after every row. `positions` are the
 * new indices of the original tokens.
 */
export function withMaskedJunk(
  input: LossInput,
  seed: number,
): { readonly padded: LossInput; readonly positions: readonly number[] } {
  const sources: number[] = [];
  const offsets = [0];
  for (const { start, end } of rowsOf(input)) {
    for (let t = start; t <= end; t++) {
      if (((seed >>> (t % 29)) & 1) === 1) sources.push(-1);
      if (t < end) sources.push(t);
    }
    offsets.push(sources.length);
  }
  const floats = (values: Float32Array): Float32Array =>
    Float32Array.from(sources, (t, i) =>
      t < 0 || input.actionMask[t] === 0 ? [NaN, Infinity, -Infinity, 1e30][i % 4]! : values[t]!,
    );
  const padded: LossInput = {
    ...input,
    offsets: Int32Array.from(offsets),
    actionMask: Uint8Array.from(sources, (t) => (t < 0 ? 0 : input.actionMask[t]!)),
    currentLogprobs: floats(input.currentLogprobs),
    oldLogprobs: floats(input.oldLogprobs),
    refLogprobs: floats(input.refLogprobs!),
    advantages: floats(input.advantages),
    entropy: floats(input.entropy!),
  };
  return { padded, positions: sources.flatMap((t, i) => (t < 0 ? [] : [i])) };
}

/**
 * Returns sum(w * v) over tokens with a weight above 0, in float64. Values of masked tokens have no
 * influence, even if they are NaN.
 */
export function aggregateLoss(values: ArrayLike<number>, weights: Float64Array): number {
  let total = 0;
  for (const [t, weight] of weights.entries()) if (weight !== 0) total += weight * values[t]!;
  return total;
}
