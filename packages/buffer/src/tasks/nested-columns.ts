import type { RawTask } from '@trinity-rft/core';
import { fieldOf } from '@trinity-rft/core/internal';

/**
 * Adds columns that are nested in others, such as `reward_model.ground_truth`, to each row, under
 * their full names.
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
      .map((name) => [name, fieldOf(row, name)] as const)
      .filter(([, value]) => value !== undefined);
    return found.length === 0 ? row : { ...row, ...Object.fromEntries(found) };
  });
}
