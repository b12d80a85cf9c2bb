import type { RawTask } from '@trinity-rft/core';

/**
 * Adds the values of nested columns, such as `reward_model.ground_truth`, to each row, under their
 * full names.
 */
export function withNestedColumns(
  rows: readonly RawTask[],
  names: readonly (string | undefined)[],
): readonly RawTask[] {
  const nested = names.filter((name) => name !== undefined && name.includes('.')) as string[];
  if (nested.length === 0) return rows;
  return rows.map((row) => {
    const found = nested
      .filter((name) => !(name in row))
      .map((name) => [name, valueAt(row, name)] as const)
      .filter(([, value]) => value !== undefined);
    return found.length === 0 ? row : { ...row, ...Object.fromEntries(found) };
  });
}

const valueAt = (row: RawTask, name: string): unknown =>
  name
    .split('.')
    .reduce<unknown>(
      (value, key) =>
        typeof value === 'object' && value !== null && Object.hasOwn(value, key)
          ? (value as RawTask)[key]
          : undefined,
      row,
    );
