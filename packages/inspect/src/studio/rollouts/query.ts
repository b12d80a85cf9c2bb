/** Rows that to show: filter, order and page, of the query string. */
import { rangeKeys, sortKeys, taskSortKeys } from '../interface/rollouts.js';

type RangeKey = (typeof rangeKeys)[number];
export type SortKey = (typeof sortKeys)[number];
export type TaskSortKey = (typeof taskSortKeys)[number];

/** An absent bound lets everything pass. */
export interface Range {
  readonly key: RangeKey;
  readonly least: number;
  readonly most: number;
}

/** What is absent lets every row pass. */
interface RowFilter {
  readonly batch?: string;
  readonly task?: string;
  readonly run?: number;
  readonly taskset?: string;
  readonly row?: number;
  readonly ranges: readonly Range[];
  /** Only rows with a problem. */
  readonly hasProblem: boolean;
  /** Part of what was read or written, in any case. */
  readonly text?: string;
}

interface PageQuery {
  readonly descending: boolean;
  /** From 0. */
  readonly page: number;
  /** Rows of a page, 1 to 200. */
  readonly size: number;
}

export interface TaskQuery extends PageQuery {
  readonly sort: TaskSortKey;
}

export interface RowQuery extends RowFilter, PageQuery {
  readonly sort: SortKey;
  /** Rows with a larger id count as not there, so that pages fit together while a run continues. */
  readonly upTo: number;
}

const largestPage = 200;

/** Parameters of a query string. */
type Given = Readonly<Record<string, string | undefined>>;

const text = (given: Given, name: string): string | undefined =>
  given[name] === undefined || given[name] === '' ? undefined : given[name];

function number(given: Given, name: string): number | undefined {
  const value = text(given, name) === undefined ? Number.NaN : Number(text(given, name));
  return Number.isFinite(value) ? value : undefined;
}

function pageOf(given: Given): PageQuery {
  const whole = (name: string, least: number, most: number, fallback: number): number =>
    Math.min(most, Math.max(least, Math.trunc(number(given, name) ?? fallback)));
  return {
    descending: given['descending'] === 'true',
    page: whole('page', 0, Number.MAX_SAFE_INTEGER, 0),
    size: whole('size', 1, largestPage, 50),
  };
}

/** Reads the order and the page of tasks; invalid values count as absent. */
export const parseTaskQuery = (given: Given): TaskQuery => ({
  sort: taskSortKeys.find((key) => key === given['sort']) ?? 'change',
  ...pageOf(given),
});

/** Reads the parameters of a query string; invalid values count as absent. */
export function parseQuery(given: Given): RowQuery {
  const ranges = rangeKeys.flatMap((key): Range[] => {
    const [least, most] = [
      number(given, `min${capital(key)}`),
      number(given, `max${capital(key)}`),
    ];
    if (least === undefined && most === undefined) return [];
    return [{ key, least: least ?? -Infinity, most: most ?? Infinity }];
  });
  return {
    batch: text(given, 'batch'),
    task: text(given, 'task'),
    run: number(given, 'run'),
    taskset: text(given, 'taskset'),
    row: number(given, 'row'),
    ranges,
    hasProblem: given['problem'] === 'true',
    text: text(given, 'text'),
    sort: sortKeys.find((key) => key === given['sort']) ?? 'id',
    ...pageOf(given),
    upTo: number(given, 'upTo') ?? Number.MAX_SAFE_INTEGER,
  };
}

const capital = (key: RangeKey): string => {
  const name = key === 'policyVersion' ? 'version' : key;
  return name.slice(0, 1).toUpperCase() + name.slice(1);
};

/** Every row, in the order of the store or its reverse: no index is needed. */
export const isEverything = ({ sort, ...filter }: RowQuery): boolean =>
  sort === 'id' && isUnfiltered(filter) && filter.text === undefined;

const isUnfiltered = ({
  batch,
  task,
  run,
  taskset,
  row,
  ranges,
  hasProblem,
}: Omit<RowFilter, 'text'>): boolean =>
  [batch, task, run, taskset, row].every((value) => value === undefined) &&
  ranges.length === 0 &&
  !hasProblem;

/** Equal for pages of one list. */
export const listKey = ({ page: _page, size: _size, ...query }: RowQuery): string =>
  JSON.stringify(query);
