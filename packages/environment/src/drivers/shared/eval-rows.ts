/** Marks the rows that drivers generate for evaluations. Rows for training have no mark. */
import type { RawTask, TaskRange } from '@trinity-rft/core';

/**
 * Adds to rows for evaluations the column `generated_for` and their number, from 0, as
 * `generated_index`. python/bridge.py reads them too.
 */
export const markEval = ({ split }: TaskRange, rows: readonly RawTask[]): readonly RawTask[] =>
  split === 'eval'
    ? rows.map((row, index) => ({ ...row, generated_for: split, generated_index: index }))
    : rows;

/** Returns the number of a row that was generated for an evaluation, or undefined for other rows. */
export function evalIndexOf(row: RawTask): number | undefined {
  const { generated_for: purpose, generated_index: index } = row;
  return purpose === 'eval' && typeof index === 'number' ? index : undefined;
}
