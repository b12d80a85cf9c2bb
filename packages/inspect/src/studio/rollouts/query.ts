/** Filter, order and page of rows, from the parameters of a request. */
import {
  rangeKeys,
  type problemKinds,
  type rolloutRoutes,
  type sortKeys,
  type taskSortKeys,
} from '../interface/rollouts.js';
import type { QueryOf } from '../interface/route.js';

type RangeKey = (typeof rangeKeys)[number];
type SortKey = (typeof sortKeys)[number];
export type ProblemKind = (typeof problemKinds)[number];
export type TaskSortKey = (typeof taskSortKeys)[number];

/**
 * Limits of a numeric field; a missing limit is infinite. Rollouts without the field do not match.
 */
export interface Range {
  readonly key: RangeKey;
  readonly least: number;
  readonly most: number;
}

/** Filter for rollouts. A missing field matches all rollouts. */
interface RolloutFilter {
  readonly batch?: string;
  readonly task?: string;
  readonly run?: number;
  readonly taskset?: string;
  readonly row?: number;
  readonly ranges: readonly Range[];
  /** Kind of problem that the rollout has; `any` matches all kinds. */
  readonly problem?: ProblemKind | 'any';
  /** Name of a tool that the rollout must have called. */
  readonly tool?: string;
  /** Substring of the prompt or the response, in any case. */
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
   * Largest row id that the pages include. Rollouts whose first row is newer are ignored, so pages
   * stay consistent while a run continues.
   */
  readonly upTo: number;
}

const largestPage = 200;

type Parameters<P extends keyof typeof rolloutRoutes> = QueryOf<(typeof rolloutRoutes)[P]>;
type Given = Partial<Parameters<'/api/runs/{run}/rollouts'>>;

const pageOf = ({ descending, page = 0, size = 50 }: Given): PageQuery => ({
  descending: descending === 'true',
  page: Math.max(0, Math.trunc(page)),
  size: Math.min(largestPage, Math.max(1, Math.trunc(size))),
});

export const toTaskQuery = ({
  sort = 'change',
  ...page
}: Parameters<'/api/runs/{run}/tasks'>): TaskQuery => ({ sort, ...pageOf(page) });

export function toQuery(given: Given): RolloutQuery {
  const ranges = rangeKeys.flatMap((key): Range[] => {
    const [least, most] = [given[`min${nameOf(key)}`], given[`max${nameOf(key)}`]];
    if (least === undefined && most === undefined) return [];
    return [{ key, least: least ?? -Infinity, most: most ?? Infinity }];
  });
  const { batch, task, run, taskset, row, problem, tool, text, sort = 'id', upTo } = given;
  return {
    ...{ batch, task, run, taskset, row, ranges, problem, tool, text, sort },
    ...pageOf(given),
    upTo: upTo ?? Number.MAX_SAFE_INTEGER,
  };
}

/** Returns the parameter name of a range without its prefix `min` or `max`. */
function nameOf(key: RangeKey) {
  const name = key === 'policyVersion' ? 'version' : key;
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}` as Capitalize<typeof name>;
}

/** Returns true if the query matches every rollout and sorts by row id. */
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

/** Returns the cache key of the list for a query. All pages of a query have the same key. */
export const listKey = ({ page: _page, size: _size, ...query }: RolloutQuery): string =>
  JSON.stringify(query);
