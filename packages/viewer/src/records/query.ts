/** Which rows to show: filter, order and page. */
import type { RowSummary } from './row-index.js';

/** An absent filter matches every row. */
export interface RowQuery {
  readonly batch?: string;
  readonly task?: string;
  readonly run?: number;
  readonly minReward?: number;
  readonly maxReward?: number;
  /** Part of the text of prompt or response, in any case. */
  readonly text?: string;
  readonly sort: SortKey;
  readonly descending: boolean;
  /** From 0. */
  readonly page: number;
  /** Rows of a page, 1 to 200. */
  readonly size: number;
}

export const sortKeys = [
  'id',
  'reward',
  'promptTokens',
  'responseTokens',
  'policyVersion',
  'step',
] as const;
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
    text: text('text'),
    sort: sortKeys.find((key) => key === given['sort']) ?? 'id',
    descending: given['descending'] === 'true',
    page: whole('page', 0, Number.MAX_SAFE_INTEGER, 0),
    size: whole('size', 1, largestPage, 50),
  };
}

/** Whether a row passes all filters except the text, which is not in the summary. */
export function passes(
  row: RowSummary,
  { batch, task, run, minReward, maxReward }: RowQuery,
): boolean {
  return (
    (batch === undefined || row.batch === batch) &&
    (task === undefined || row.task === task) &&
    (run === undefined || row.run === run) &&
    (minReward === undefined || (row.reward ?? Number.NaN) >= minReward) &&
    (maxReward === undefined || (row.reward ?? Number.NaN) <= maxReward)
  );
}

/** A sorted copy; rows without the value come last, equal rows stay in the order of the store. */
export function sorted(
  rows: readonly RowSummary[],
  { sort, descending }: Pick<RowQuery, 'sort' | 'descending'>,
): readonly RowSummary[] {
  const sign = descending ? -1 : 1;
  return rows.toSorted((a, b) => {
    const [left, right] = [a[sort], b[sort]];
    if (left === undefined || right === undefined)
      return Number(left === undefined) - Number(right === undefined);
    return sign * (left - right) || a.id - b.id;
  });
}
