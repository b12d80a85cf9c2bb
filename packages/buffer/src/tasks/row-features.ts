/** Numeric columns by which a selector orders rows. */
import { type RawTask, TaskError } from '@trinity-rft/core';

/**
 * Values of `keys`, per row.
 * @throws TaskError naming a row and a key without a finite number
 */
export function rowFeatures(
  rows: readonly RawTask[],
  keys: readonly string[],
  name: string,
): readonly (readonly number[])[] {
  return rows.map((rawTask, row) => keys.map((key) => featureOf(rawTask, key, row, name)));
}

function featureOf(rawTask: RawTask, key: string, row: number, name: string): number {
  const value = rawTask[key];
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  const has = key in rawTask ? `has ${JSON.stringify(value)} there` : 'has nothing there';
  throw new TaskError(
    `Row ${row} of task set "${name}" ${has}: data_selector.feature_keys names "${key}", which must be a number in every row. The keys of the row are ${Object.keys(rawTask).join(', ')}.`,
    { code: 'TASK_FEATURE', details: { row, key } },
  );
}
