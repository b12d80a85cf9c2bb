/** Reads the filter, order and page of rows from the query string. */
import { problemKinds, rangeKeys, sortKeys, taskSortKeys } from '../interface/rollouts.js';

type RangeKey = (typeof rangeKeys)[number];
type SortKey = (typeof sortKeys)[number];
export type ProblemKind = (typeof problemKinds)[number];
export type TaskSortKey = (typeof taskSortKeys)[number];

/** Range of a number, infinite where a bound is absent. Excludes rollouts without the number. */
export interface Range {
  readonly key: RangeKey;
  readonly least: number;
  readonly most: number;
}

/** Filter of rollouts; an absent field excludes nothing. */
interface RolloutFilter {
  readonly batch?: string;
  readonly task?: string;
  readonly run?: number;
  readonly taskset?: string;
  readonly row?: number;
  readonly ranges: readonly Range[];
  /** Kind of problem that the rollout has; `any` matches all kinds. */
  readonly problem?: ProblemKind | 'any';
  /** Name of a tool that was called. */
  readonly tool?: string;
  /** Text that the prompt or the response contains, in any case. */
  readonly text?: string;
}

interface PageQuery {
  readonly descending: boolean;
  /** Page number from 0. */
  readonly page: number;
  /** Number of rows per page, 1 to 200. */
  readonly size: number;
}

export interface TaskQuery extends PageQuery {
  readonly sort: TaskSortKey;
}

export interface RolloutQuery extends RolloutFilter, PageQuery {
  readonly sort: SortKey;
  /**
   * Rollouts whose first row has a larger id are ignored, so that pages stay consistent while a run
   * continues.
   */
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

/** Reads the order and the page of tasks; invalid values are ignored. */
export const parseTaskQuery = (given: Given): TaskQuery => ({
  sort: taskSortKeys.find((key) => key === given['sort']) ?? 'change',
  ...pageOf(given),
});

/** Reads the parameters of a query string; invalid values are ignored. */
export function parseQuery(given: Given): RolloutQuery {
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
    problem: ['any' as const, ...problemKinds].find((kind) => kind === given['problem']),
    tool: text(given, 'tool'),
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

/** True if the query asks for every rollout in the order of the store or its reverse. */
export const isEverything = (query: RolloutQuery): boolean =>
  needsNames(query) && [query.batch, query.task, query.run].every((value) => value === undefined);

/** True if the names of rollouts suffice to filter and sort them. */
export const needsNames = ({
  sort,
  taskset,
  row,
  ranges,
  problem,
  tool,
  text: searched,
}: RolloutQuery): boolean =>
  sort === 'id' &&
  ranges.length === 0 &&
  [taskset, row, problem, tool, searched].every((value) => value === undefined);

/** Key of a list, which is equal for all its pages. */
export const listKey = ({ page: _page, size: _size, ...query }: RolloutQuery): string =>
  JSON.stringify(query);
