/** Derives the numeric fields of a rollout from those of its model calls. */
import type { sortKeys } from '../interface/rollouts.js';
import type { Column } from './columns.js';
import { noTime, secondsIn, stepOfBatch, type CallColumns, type RowIndex } from './row-index.js';

export type NumberKey = Exclude<(typeof sortKeys)[number], 'id'>;

/**
 * Combines the numbers of a rollout's calls into one number.
 * @param values one per call, in order; NaN where a call has no such number
 */
type Fold = (values: readonly number[]) => number;

const last: Fold = (values) => values.at(-1) ?? Number.NaN;
const known = (values: readonly number[]): readonly number[] =>
  values.filter((value) => !Number.isNaN(value));
/** Replaces NaN with undefined. */
export const knownNumber = (value = Number.NaN): number | undefined =>
  Number.isNaN(value) ? undefined : value;

const sum: Fold = (values) => values.reduce((total, value) => total + value, 0);
const mean: Fold = (values) => sum(known(values)) / known(values).length;
const most: Fold = (values) =>
  known(values).length === 0 ? Number.NaN : Math.max(...known(values));

export const folds = {
  reward: last,
  advantage: mean,
  policyVersion: last,
  staleness: most,
  promptTokens: sum,
  responseTokens: sum,
  turns: sum,
  toolCalls: sum,
} satisfies Readonly<Record<string, Fold>>;

/**
 * Returns the time from the start of the first call to the end of the last one, in the unit of the
 * arguments; NaN if no times are known.
 */
export const durationOf = (starts: readonly number[], ends: readonly number[]): number =>
  most(ends) + most(starts.map((start) => -start));

/**
 * Returns a function that reads a numeric field of a rollout from the index. The function returns
 * NaN if the rollout has no such field.
 */
export function numberReader(
  { columns, chains }: Pick<RowIndex, 'columns' | 'chains'>,
  key: NumberKey,
): (rollout: number) => number {
  if (key === 'step')
    return (rollout) => stepOfBatch(columns.batch.at(chains.first(rollout)) ?? '') ?? Number.NaN;
  if (key === 'seconds') {
    const [start, end] = [timeReader(columns.start), timeReader(columns.end)];
    return (rollout) => {
      const calls = chains.calls(rollout);
      return secondsIn(durationOf(calls.map(start), calls.map(end)));
    };
  }
  const read = callReader(columns, key);
  return (rollout) => {
    const only = chains.only(rollout);
    return only === undefined ? folds[key](chains.calls(rollout).map(read)) : read(only);
  };
}

const timeReader =
  ({ at }: Column) =>
  (position: number): number => {
    const time = at(position);
    return time === noTime ? Number.NaN : time;
  };

function callReader(
  columns: CallColumns,
  key: Exclude<NumberKey, 'step' | 'seconds'>,
): (position: number) => number {
  if (key === 'staleness')
    return (position) =>
      stalenessOf(columns.policyVersion.at(position), columns.trainStep.at(position)) ?? Number.NaN;
  return columns[key].at;
}

/**
 * Returns the number of train steps between the policy version that sampled a row and the train
 * step that used it. Returns undefined if either is unknown.
 */
export function stalenessOf(policyVersion: number, trainStep: number): number | undefined {
  // The weights of version v are those after train step v.
  return policyVersion < 0 || trainStep < 0
    ? undefined
    : Math.max(0, trainStep - 1 - policyVersion);
}
