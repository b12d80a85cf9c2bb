/**
 * The waiting line of an experience store: rows first in, first out, the takers that wait for them,
 * and puts that wait for room.
 */
import type { StoredRow } from './row-driver.js';
import { takeCancelledError } from './errors.js';

/**
 * What a taker gets: rows to train on, and older rows before them that its filter refuses. Both are
 * used up together.
 */
export interface Grant {
  readonly used: readonly StoredRow[];
  readonly stale: readonly StoredRow[];
}

export interface RowQueue {
  /** Rows that nobody holds. */
  readonly length: number;
  /** Rows that waiting takers hold as too old for them. */
  held(): readonly StoredRow[];
  /** Appends new rows. */
  add(rows: readonly StoredRow[]): void;
  /** Puts rows back in their old place. */
  giveBack(grant: Grant): void;
  /** Forgets everything that nobody holds, and starts again from these rows. */
  reset(rows: readonly StoredRow[]): void;
  /**
   * The oldest `count` rows of at least that version; the remainder, then `undefined`, once
   * finished. `open` turns the grant into what the caller gets in the same breath, so that rows are
   * never between two owners; if it throws, they go back.
   * @throws CancelledError, and what `open` throws
   */
  take<T>(wanted: Wanted, open: (grant: Grant) => T): Promise<T | undefined>;
  /**
   * Runs `store` (which adds `size` rows) as soon as there is room; rejects with what it throws.
   */
  admit(size: number, store: () => void): Promise<void>;
  finish(): void;
  /** Rejects everybody who waits. */
  refuseAll(error: Error): void;
}

interface Wanted {
  readonly count: number;
  /** Older rows are refused. */
  readonly minPolicyVersion: number;
  readonly signal: AbortSignal | undefined;
}

interface Taker {
  readonly count: number;
  readonly minPolicyVersion: number;
  readonly stale: StoredRow[];
  readonly grant: (grant: Grant | undefined) => void;
  readonly refuse: (error: Error) => void;
}

interface WaitingPut {
  readonly size: number;
  readonly store: () => void;
  readonly refuse: (error: Error) => void;
}

/** @param capacity see LeaseStoreOptions */
export function rowQueue(initial: readonly StoredRow[], capacity: number): RowQueue {
  const takers: Taker[] = [];
  const puts: WaitingPut[] = [];
  let waiting = [...initial];
  let finished = false;

  const insertBack = (rows: readonly StoredRow[]): void => {
    if (rows.length > 0) waiting = [...waiting, ...rows].sort((a, b) => a.id - b.id);
  };

  const serveTakers = (): void => {
    for (let taker = takers[0]; taker; taker = takers[0]) {
      const picked = pickRows(waiting, taker, finished);
      waiting = picked.rest;
      if (!picked.rows && !finished) return;
      takers.shift();
      taker.grant(picked.rows && { used: picked.rows, stale: taker.stale });
    }
  };

  const admitPuts = (): void => {
    for (let put = puts[0]; put; put = puts[0]) {
      const room = waiting.length === 0 || waiting.length + put.size <= capacity;
      // A taker that waits needs more than is there: holding data back from it would stop both
      // sides for good.
      if (!room && takers.length === 0 && !finished) return;
      puts.shift();
      put.store();
    }
  };

  const advance = (): void => {
    serveTakers();
    admitPuts();
  };

  const take = <T>(
    { count, minPolicyVersion, signal }: Wanted,
    open: (grant: Grant) => T,
  ): Promise<T | undefined> =>
    new Promise((resolve, reject) => {
      const stale: StoredRow[] = [];
      const leave = (rows: readonly StoredRow[], answer: () => void): void => {
        signal?.removeEventListener('abort', onAbort);
        insertBack(rows);
        answer();
      };
      const refuse = (error: Error): void => leave(stale, () => reject(error));
      const grant = (given: Grant | undefined): void => {
        if (!given) return leave(stale, () => resolve(undefined));
        try {
          const opened = open(given);
          leave([], () => resolve(opened));
        } catch (error) {
          leave([...given.used, ...stale], () => reject(error as Error));
        }
      };
      const taker: Taker = { count, minPolicyVersion, stale, grant, refuse };
      const onAbort = (): void => {
        takers.splice(takers.indexOf(taker), 1);
        refuse(takeCancelledError(count, waiting.length, signal?.reason));
        advance();
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      takers.push(taker);
      advance();
    });

  return {
    get length() {
      return waiting.length;
    },
    held: () => takers.flatMap((taker) => taker.stale),
    add: (rows) => {
      for (const row of rows) waiting.push(row);
      serveTakers();
    },
    giveBack: ({ used, stale }) => {
      insertBack([...used, ...stale]);
      advance();
    },
    reset: (rows) => {
      waiting = [...rows];
      advance();
    },
    take,
    admit: (size, store) =>
      new Promise((resolve, reject) => {
        puts.push({ size, store: () => settle(store, resolve, reject), refuse: reject });
        admitPuts();
      }),
    finish: () => {
      finished = true;
      admitPuts();
      serveTakers();
    },
    refuseAll: (error) => {
      for (const taker of takers.splice(0)) taker.refuse(error);
      for (const put of puts.splice(0)) put.refuse(error);
    },
  };
}

/**
 * The oldest rows that are fresh enough for `taker`; rows older than those that are not go to
 * `taker.stale`. Rows behind the last one picked are left alone, so that what a train step refuses
 * does not depend on how far the explorer is ahead.
 */
function pickRows(
  waiting: StoredRow[],
  taker: Taker,
  finished: boolean,
): { rows: readonly StoredRow[] | undefined; rest: StoredRow[] } {
  const fresh: StoredRow[] = [];
  let seen = 0;
  for (; seen < waiting.length && fresh.length < taker.count; seen++) {
    const row = waiting[seen]!;
    (row.policyVersion < taker.minPolicyVersion ? taker.stale : fresh).push(row);
  }
  const rest = waiting.slice(seen);
  if (fresh.length === taker.count || (finished && fresh.length > 0)) return { rows: fresh, rest };
  return { rows: undefined, rest: [...fresh, ...rest] };
}

function settle(work: () => void, resolve: () => void, reject: (error: Error) => void): void {
  try {
    work();
    resolve();
  } catch (error) {
    reject(error as Error);
  }
}
