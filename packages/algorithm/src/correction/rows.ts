/**
 * Selects the rows that the policy sampled and their trained tokens, and computes sums over these
 * tokens.
 */
import type { LossInput } from '@trinity-rft/core';

export interface Row {
  /** Indices of the row's tokens in the per-token arrays. */
  readonly tokens: readonly number[];
  /** The trainer's log-probability minus the sampler's, for each token. */
  readonly logRatios: readonly number[];
}

type Batch = Pick<
  LossInput,
  'offsets' | 'actionMask' | 'currentLogprobs' | 'oldLogprobs' | 'expertMask'
>;

/** Returns the sampled rows with their trained tokens. Omits rows without trained tokens. */
export function sampledRows(batch: Batch): readonly Row[] {
  const { offsets, actionMask, currentLogprobs: current, oldLogprobs: old, expertMask } = batch;
  return Array.from({ length: offsets.length - 1 }, (_, row) => row)
    .filter((row) => expertMask?.[row] !== 1)
    .map((row) => {
      const tokens: number[] = [];
      for (let i = offsets[row]!; i < offsets[row + 1]!; i++)
        if (actionMask[i] === 1) tokens.push(i);
      return { tokens, logRatios: tokens.map((i) => current[i]! - old[i]!) };
    })
    .filter(({ tokens }) => tokens.length > 0);
}

export const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

export const share = (values: readonly number[], is: (value: number) => boolean): number =>
  values.filter(is).length / values.length;

export const largest = (values: readonly number[]): number =>
  values.reduce((a, b) => Math.max(a, b), -Infinity);

export const smallest = (values: readonly number[]): number =>
  values.reduce((a, b) => Math.min(a, b), Infinity);
