/** Marks the rows that drivers generate for evaluations. Rows for training have no mark. */
import type { RawTask, TaskRange } from '@trinity-rft/core';

/** Adds the column `generated_for` to rows for evaluations. python/bridge.py reads it too. */
export const markEval = ({ split }: TaskRange, rows: readonly RawTask[]): readonly RawTask[] =>
  split === 'eval' ? rows.map((row) => ({ ...row, generated_for: split })) : rows;

export const isForEval = (row: RawTask): boolean => row['generated_for'] === 'eval';
