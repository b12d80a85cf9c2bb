/** Which rows to show: filter, order and page. */
import { sortKeys } from '../interface/rollouts.js';
import type { RolloutRow } from '../interface/types.js';

/** An absent filter matches every row. */
export interface RowQuery {
  readonly batch?: string;
  readonly task?: string;
  readonly run?: number;
  readonly minReward?: number;
  readonly maxReward?: number;
  readonly minVersion?: number;
  readonly maxVersion?: number;
  /** Part of the text of prompt or response, in any case. */
  readonly text?: string;
  readonly sort: SortKey;
  readonly descending: boolean;
  /** From 0. */
  readonly page: number;
  /** Rows of a page, 1 to 200. */
  readonly size: number;
}

type SortKey = (typeof sortKeys)[number];

const largestPage = 200;

/** Reads the parameters of a query string; invalid values count as absent. */
export function parseQuery(given: Readonly<Record<string, string | undefined>>): RowQuery {
  const text = (name: string): string | undefined =>
    given[name] === undefined || given[name] === '' ? undefined : given[name];
  const number = (name: string): number | undefined => {
    const value = text(name) === undefined ? Number.NaN : Number(text(name));
    return Number.isFinite(value) ? value : undefined;
  };
  const whole = (name: string, least: number, most: number, fallback: number): number =>
    Math.min(most, Math.max(least, Math.trunc(number(name) ?? fallback)));
  return {
    batch: text('batch'),
    task: text('task'),
    run: number('run'),
    minReward: number('minReward'),
    maxReward: number('maxReward'),
    minVersion: number('minVersion'),
    maxVersion: number('maxVersion'),
    text: text('text'),
    sort: sortKeys.find((key) => key === given['sort']) ?? 'id',
    descending: given['descending'] === 'true',
    page: whole('page', 0, Number.MAX_SAFE_INTEGER, 0),
    size: whole('size', 1, largestPage, 50),
  };
}

/** Whether a row passes all filters except the text, which is not in the row. */
export function passes(row: RolloutRow, query: RowQuery): boolean {
  const { batch, task, run } = query;
  return (
    (batch === undefined || row.batch === batch) &&
    (task === undefined || row.task === task) &&
    (run === undefined || row.run === run) &&
    isWithin(row.reward, query.minReward, query.maxReward) &&
    isWithin(row.policyVersion, query.minVersion, query.maxVersion)
  );
}

function isWithin(
  value: number | undefined,
  least: number | undefined,
  most: number | undefined,
): boolean {
  if (least === undefined && most === undefined) return true;
  return value !== undefined && value >= (least ?? -Infinity) && value <= (most ?? Infinity);
}

/** Every row, in the order of the store or its reverse. */
export const isEverything = (query: RowQuery): boolean =>
  query.sort === 'id' && filterKeys.every((key) => query[key] === undefined);

const filterKeys = [
  'batch',
  'task',
  'run',
  'minReward',
  'maxReward',
  'minVersion',
  'maxVersion',
  'text',
] as const;

/** A sorted copy; rows without the value come last, equal rows stay in the order of the store. */
export function sorted(
  rows: readonly RolloutRow[],
  { sort, descending }: Pick<RowQuery, 'sort' | 'descending'>,
): readonly RolloutRow[] {
  const sign = descending ? -1 : 1;
  return rows.toSorted((a, b) => {
    const [left, right] = [a[sort], b[sort]];
    if (left === undefined || right === undefined)
      return Number(left === undefined) - Number(right === undefined);
    return sign * (left - right) || a.id - b.id;
  });
}
