/** Lists of rollouts, one page at a time, with any filter and order. */
import type { ExperienceUse } from '@trinity-rft/buffer';
import type { Tokenizer } from '@trinity-rft/chat';
import type { Experience } from '@trinity-rft/core';

import type { ListedRollout, RolloutPage, RolloutRow } from '../interface/types.js';
import { within } from '../shared/within.js';
import type { RunFailure } from './failures.js';
import { runNameOf, summaryOf } from './head.js';
import { matchingRows } from './matching.js';
import { isEverything, listKey, type RowQuery } from './query.js';
import { stalenessOf } from './row-index.js';
import { advantagesOf, meanAdvantage, type RolloutStore } from './store.js';
import { answerOf, questionOf } from './texts.js';
import { textSearch, type TextSearch } from './text-search.js';
import type { ToolCallCounter } from './tool-calls.js';

export interface RolloutList {
  page(query: RowQuery): Promise<RolloutPage>;
}

/**
 * Time in ms that a request waits for the index or a search before it answers with partial results.
 */
const waitMs = 250;
/**
 * Age in ms after which a list is made again, to include new rows and train steps; shorter while
 * the index is being read.
 */
const [freshMs, freshWhileReadingMs] = [10_000, 1500];
/** Number of lists that are kept. */
const most = 2;

interface Ordered {
  readonly rows: Uint32Array;
  /** Number of rows in the index when the list was made. */
  readonly size: number;
  readonly at: number;
  readonly search?: TextSearch;
}

export function rolloutList(store: RolloutStore): RolloutList {
  const lists = new Map<string, Ordered>();
  return {
    page: async (asked) => {
      const { reader } = store;
      const total = reader.count();
      const newest = reader.newestId();
      const query = { ...asked, upTo: Math.min(asked.upTo, newest) };
      const begin = query.page * query.size;
      if (isEverything(query)) {
        const order = { newestFirst: query.descending, upTo: query.upTo };
        const ids = reader.idsFrom(begin, query.size, order);
        const matching = Math.max(0, total - (newest - query.upTo));
        return { rows: await listed(ids, store), matching, total, upTo: query.upTo };
      }
      const isComplete = await within(waitMs, store.index.catchUp());
      const list = await ordered(query, { lists, store, isComplete });
      await list.search?.run(waitMs);
      const positions = list.search?.found ?? list.rows;
      const ids = Array.from(positions.slice(begin, begin + query.size), (position) =>
        store.index.columns.id.at(position),
      );
      return {
        rows: await listed(ids, store),
        matching: positions.length,
        total,
        upTo: query.upTo,
        progress: progressOf(list, isComplete, { size: store.index.size(), total }),
      };
    },
  };
}

function progressOf(
  { search }: Ordered,
  isComplete: boolean,
  { size, total }: { readonly size: number; readonly total: number },
): RolloutPage['progress'] {
  if (!isComplete) return { done: Math.min(size, total), of: total };
  return search && search.done < search.of ? { done: search.done, of: search.of } : undefined;
}

interface OrderParts {
  readonly lists: Map<string, Ordered>;
  readonly store: RolloutStore;
  /** True if the index has all rows. */
  readonly isComplete: boolean;
}

async function ordered(
  query: RowQuery,
  { lists, store, isComplete }: OrderParts,
): Promise<Ordered> {
  const { index, reader } = store;
  const key = listKey(query);
  const before = lists.get(key);
  const size = index.size();
  const now = performance.now();
  const age = now - (before?.at ?? -Infinity);
  // A search continues where it was: it is of rows that were there when it began.
  if (before?.size === size && (before.search !== undefined || age < freshMs)) return before;
  if (before && !isComplete && age < freshWhileReadingMs) return before;
  const failures = await store.failures.read();
  const rows = matchingRows(query, { columns: index.columns, size, failures });
  const search =
    query.text === undefined
      ? undefined
      : textSearch({
          reader,
          candidates: rows,
          idAt: (position) => index.columns.id.at(position),
          text: query.text,
          tokenizer: () => store.tokenizer(),
        });
  const list = { rows, size, at: now, search };
  lists.delete(key);
  lists.set(key, list);
  for (const oldest of lists.keys()) if (lists.size > most) lists.delete(oldest);
  return list;
}

interface RowParts {
  readonly tokenizer: Tokenizer | undefined;
  readonly toolCalls: ToolCallCounter;
  readonly failures: ReadonlyMap<string, RunFailure>;
}

async function listed(ids: readonly number[], store: RolloutStore): Promise<ListedRollout[]> {
  const { reader } = store;
  const parts = {
    tokenizer: await store.tokenizer(),
    toolCalls: await store.toolCalls(),
    failures: await store.failures.read(),
  };
  return ids.flatMap((id) => {
    const row = reader.row(id);
    return row ? [listedRow(id, row.experience, reader.uses(id), parts)] : [];
  });
}

function listedRow(
  id: number,
  experience: Experience,
  uses: readonly ExperienceUse[],
  { tokenizer, toolCalls, failures }: RowParts,
): ListedRollout {
  const row = rowOf(id, experience, uses, toolCalls(experience));
  const failure = failures.get(runNameOf(row));
  return {
    ...row,
    problem: row.problem ?? (failure?.isRewarded === true ? failure.message : undefined),
    question: questionOf(experience, tokenizer),
    answer: answerOf(experience, tokenizer),
  };
}

/** A row of the list, with the results of train steps. */
export function rowOf(
  id: number,
  experience: Experience,
  uses: readonly ExperienceUse[],
  toolCalls: number,
): RolloutRow {
  const row = summaryOf({ ...experience, id, advantage: undefined }, toolCalls);
  const last = uses.at(-1);
  return {
    ...row,
    advantage: meanAdvantage(experience, advantagesOf(experience, uses)),
    trainStep: last?.trainStep,
    dropped: last?.dropped,
    staleness: last && stalenessOf(row.policyVersion, last.trainStep),
  };
}
