/** Pages of rollouts, filtered and sorted. */
import { runKey } from '@trinity-rft/core';
import type { Rollout, RolloutPage } from '../interface/types.js';
import { within } from '../shared/within.js';
import { matchingRollouts } from './matching.js';
import { isEverything, listKey, needsNames, type RolloutQuery } from './query.js';
import { readCalls, rolloutOf } from './rollout.js';
import type { RolloutStore } from './store.js';
import { textSearch, type TextSearch } from './text-search.js';

export interface RolloutList {
  page(query: RolloutQuery): Promise<RolloutPage>;
}

/**
 * Time in ms that a request waits for one kind of data before it returns partial results. The kinds
 * are the names of rollouts, the other columns, and the results of a search.
 */
const waitMs = 250;
/**
 * Ages in ms after which a cached list is rebuilt. The first applies if there are no new rows; the
 * list may still change, because train steps use rows. The second is a minimum age while the index
 * is incomplete.
 */
const [freshMs, freshWhileReadingMs] = [10_000, 1500];
/**
 * Minimum age of a list before it is rebuilt while the index is incomplete, as a multiple of the
 * time that building took. Most of the time thus remains for reading the index.
 */
const pauses = 10;
/** Maximum number of cached lists. */
const most = 2;

interface Ordered {
  readonly rollouts: Uint32Array;
  /**
   * Identifies the contents of the index from which the list was built: its number of calls, and
   * its revision.
   */
  readonly state: string;
  readonly at: number;
  /** Time taken to build the list, in milliseconds. */
  readonly took: number;
  readonly search?: TextSearch;
}

export function rolloutList(store: RolloutStore): RolloutList {
  const { reader, index } = store;
  const lists = new Map<string, Ordered>();
  return {
    page: async (asked) => {
      const recorded = reader.count();
      const query = { ...asked, upTo: Math.min(asked.upTo, reader.newestId()) };
      const common = { recorded, upTo: query.upTo, tools: toolsIn(store) };
      const hasNames = await within(waitMs, index.catchUpNames());
      if (!hasNames && isEverything(query)) return { ...common, ...(await early(query, store)) };
      const isComplete = hasNames && (needsNames(query) || (await within(waitMs, index.catchUp())));
      const list = await ordered(query, lists, store, isComplete);
      await list.search?.run(waitMs);
      const found = list.search?.found ?? list.rollouts;
      const begin = query.page * query.size;
      const ids = Array.from(found.slice(begin, begin + query.size), (rollout) =>
        rowIds(rollout, store),
      );
      const read = hasNames
        ? index.progress(recorded)
        : { done: Math.min(index.size(), recorded), of: recorded };
      return {
        ...common,
        rows: await listed(ids, store),
        matching: found.length,
        total: index.chains.present(),
        progress: progressOf(list, isComplete, read),
      };
    },
  };
}

const rowIds = (rollout: number, { index: { columns, chains } }: RolloutStore): readonly number[] =>
  chains.calls(rollout).map(columns.id.at);

async function listed(
  rollouts: readonly (readonly number[])[],
  store: RolloutStore,
): Promise<Rollout[]> {
  const rows = rollouts.map(async (ids) => {
    const calls = await readCalls(ids, store);
    return calls ? [await rolloutOf(calls, store)] : [];
  });
  return (await Promise.all(rows)).flat();
}

/** Page of all rollouts before their number is known; assumes one row per rollout. */
async function early(
  { page, size, descending, upTo }: RolloutQuery,
  store: RolloutStore,
): Promise<Pick<RolloutPage, 'rows' | 'matching' | 'total' | 'progress'>> {
  const { reader, index } = store;
  const ids = reader.idsFrom(page * size, size, { newestFirst: descending, upTo });
  const names = new Set(
    ids.flatMap((id) => {
      const row = reader.row(id);
      return row ? [runKey(row.experience.eid)] : [];
    }),
  );
  const rollouts = Array.from(names, (name) => reader.idsOfRun(name));
  const total = reader.count();
  return {
    rows: await listed(rollouts, store),
    matching: total,
    total,
    progress: { done: index.size(), of: total },
  };
}

function toolsIn({ index }: RolloutStore): string[] {
  const names = [...index.columns.tools.texts()].flatMap(([lines]) => lines.split('\n'));
  return [...new Set(names)].toSorted();
}

function progressOf(
  { search }: Ordered,
  isComplete: boolean,
  read: NonNullable<RolloutPage['progress']>,
): RolloutPage['progress'] {
  if (!isComplete) return read;
  return search && search.done < search.of ? { done: search.done, of: search.of } : undefined;
}

/**
 * Returns the filtered and sorted list for a query, from the cache if it is recent enough.
 * @param isComplete true if the index contains everything that the query needs
 */
async function ordered(
  query: RolloutQuery,
  lists: Map<string, Ordered>,
  store: RolloutStore,
  isComplete: boolean,
): Promise<Ordered> {
  const { index, reader } = store;
  const key = listKey(query);
  const before = lists.get(key);
  const size = needsNames(query) ? index.size() : index.detailed();
  const state = `${size}/${index.revision()}`;
  const now = performance.now();
  const age = now - (before?.at ?? -Infinity);
  // A search covers the rows that existed when it began, so it is continued.
  if (before?.state === state && (before.search !== undefined || age < freshMs)) return before;
  const patience = Math.max(freshWhileReadingMs, pauses * (before?.took ?? 0));
  if (before && !isComplete && age < patience) return before;
  const rollouts = matchingRollouts(query, index, await store.failures.read());
  const search =
    query.text === undefined
      ? undefined
      : textSearch({
          reader,
          candidates: rollouts,
          idsOf: (rollout) => rowIds(rollout, store),
          text: query.text,
          tokenizer: () => store.tokenizer(),
        });
  const list = { rollouts, state, at: now, took: performance.now() - now, search };
  lists.delete(key);
  lists.set(key, list);
  for (const oldest of lists.keys()) if (lists.size > most) lists.delete(oldest);
  return list;
}
