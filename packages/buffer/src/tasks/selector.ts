/**
 * Creates the selector of a task set, which determines the order of its rows: by position only, by
 * columns of the rows, or by results of rollouts.
 */
import { type RawTask, TaskError } from '@trinity-rft/core';
import { fieldOf } from '@trinity-rft/core/internal';
import { difficultySelector, type DifficultyArgs, type RowSelector } from './difficulty.js';
import { rowOrder, type PlainSelectorType } from './row-order.js';

type SelectorType = PlainSelectorType | 'offline_easy2hard' | 'difficulty_based';

export interface SelectorOptions {
  /** Type of the selector. @default "sequential" */
  readonly selectorType?: SelectorType;
  /**
   * Columns that have a number in every row. For `offline_easy2hard`, higher numbers mean easier
   * tasks, and earlier columns take precedence. For `difficulty_based`, the two columns are the
   * pass rates of a weak and of a strong model.
   * @default empty
   */
  readonly featureKeys?: readonly string[];
  /** Arguments of `difficulty_based`. */
  readonly selectorArgs?: Partial<DifficultyArgs>;
}

const difficultyDefaults: DifficultyArgs = {
  m: 16,
  lamb: 0.2,
  rho: 0.2,
  adaptiveRho: false,
  targetReward: 1,
  tau: 1,
  doSample: false,
};

/**
 * Creates the selector of a task set.
 * @throws TaskError if rows lack the columns that the selector needs
 */
export function createSelector(
  rows: readonly RawTask[],
  options: SelectorOptions & { readonly seed: number; readonly name: string },
): RowSelector {
  const { selectorType = 'sequential', featureKeys = [], selectorArgs, seed, name } = options;
  if (selectorType === 'offline_easy2hard') {
    const order = easyToHard(rowFeatures(rows, featureKeys, name));
    return { select: (cursor, count) => wrapAround(order, cursor, count) };
  }
  if (selectorType === 'difficulty_based') {
    const features = rowFeatures(rows, featureKeys, name).map(
      ([weak = 0, strong = 0]) => [weak, strong] as const,
    );
    return difficultySelector({
      features,
      args: { ...difficultyDefaults, ...selectorArgs },
      seed,
      name,
    });
  }
  return { select: rowOrder(selectorType, rows.length, seed, name) };
}

/**
 * Returns the row numbers, sorted by features in descending order. If features are equal, the later
 * row comes first, as in Trinity-RFT.
 */
function easyToHard(features: readonly (readonly number[])[]): readonly number[] {
  const compare = (a: readonly number[], b: readonly number[]): number => {
    const differs = a.findIndex((value, i) => value !== b[i]);
    return differs < 0 ? 0 : (b[differs] ?? 0) - (a[differs] ?? 0);
  };
  return features
    .map((values, row) => ({ values, row }))
    .sort((a, b) => compare(a.values, b.values) || b.row - a.row)
    .map(({ row }) => row);
}

const wrapAround = (order: readonly number[], cursor: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, i) => order[(cursor + i) % order.length] ?? 0);

/**
 * Returns the values of the columns `keys` for each row.
 * @throws TaskError naming a row and a key without a finite number
 */
function rowFeatures(
  rows: readonly RawTask[],
  keys: readonly string[],
  name: string,
): readonly (readonly number[])[] {
  return rows.map((rawTask, row) => keys.map((key) => featureOf(rawTask, key, row, name)));
}

function featureOf(rawTask: RawTask, key: string, row: number, name: string): number {
  const value = fieldOf(rawTask, key);
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  const has = value !== undefined ? `has ${JSON.stringify(value)} there` : 'has nothing there';
  throw new TaskError(
    `Row ${row} of task set "${name}" ${has}: data_selector.feature_keys names "${key}", which must be a number in every row. The keys of the row are ${Object.keys(rawTask).join(', ')}.`,
    { code: 'TASK_FEATURE', details: { row, key } },
  );
}
