/**
 * Implements the queue of an experience store: a pool of rows, the calls that wait for a batch
 * (takers), and the puts that wait for room.
 */
import { takeCancelledError } from './errors.js';
import type { Clock } from '@trinity-rft/core';
import type { BatchRequest } from './pick-batch.js';
import type { StoredRow } from './row-driver.js';
import type { RowPool } from './row-pool.js';
import type { Grant, RecordedStep, Use } from './row-driver.js';

interface TakeRequest extends BatchRequest {
  readonly signal: AbortSignal | undefined;
}

export interface RowQueue {
  /** Number of rows in the queue that were never trained on. */
  readonly newRows: number;
  /** Number of takers that wait for rows that do not exist yet or are not released. */
  readonly waitingTakers: number;
  /**
   * Releases rows up to this explore step, and withholds rows of later steps. Before the first
   * call, all rows are released.
   */
  releaseUpTo(exploreStep: number): void;
  /**
   * Returns the rows that were removed from the pool as too old, for takers that still wait for
   * their batch.
   */
  setAside(): readonly StoredRow[];
  /** Appends new rows. */
  add(rows: readonly StoredRow[]): void;
  /** Returns the rows of a grant to the queue, at the positions that they had before. */
  putBack(grant: Grant): void;
  /** Handles that a train step has used the rows of a grant. */
  settle(grant: Grant, use: Use): void;
  /**
   * Replaces the contents of the queue, and the recorded train steps that are to be repeated first.
   */
  reset(rows: readonly StoredRow[], recorded?: readonly RecordedStep[]): void;
  /**
   * Waits for the next batch. After `finish`, returns the remaining rows as the last batch, and
   * then `undefined`. When a batch is ready, calls `open` with it and returns the result. `open` is
   * synchronous, so that the rows belong either to the queue or to its result at any time. If
   * `open` throws, the rows return to the queue.
   * @throws CancelledError if the signal aborts, and the errors of `open`
   */
  take<T>(request: TakeRequest, open: (grant: Grant) => T): Promise<T | undefined>;
  /**
   * Waits until there is room for `size` rows, then calls `store`, which adds them. Rejects with
   * the error that `store` throws.
   */
  admit(size: number, store: () => void): Promise<void>;
  /** Declares that no more rows will be added. */
  finish(): void;
  /** Rejects all waiting takers and puts with the error. */
  rejectAll(error: Error): void;
}

export interface RowQueueOptions {
  readonly pool: RowPool;
  /** Number of rows never trained on above which a put waits; see `LeaseStoreOptions`. */
  readonly capacity: number;
  /**
   * Clock by which rows become available after their cooldown.
   * @default no clock, because rows have no cooldown
   */
  readonly clock?: Pick<Clock, 'now' | 'after'>;
}

export function rowQueue({ pool, capacity, clock }: RowQueueOptions): RowQueue {
  const queue: QueueState = {
    pool,
    clock,
    takers: [],
    puts: [],
    capacity,
    lastExploreStep: Infinity,
    finished: false,
    stopWaiting: () => undefined,
  };
  return {
    get newRows() {
      return pool.newRows;
    },
    get waitingTakers() {
      return queue.takers.length;
    },
    releaseUpTo: (exploreStep) => {
      queue.lastExploreStep = exploreStep;
      advance(queue);
    },
    setAside: () => queue.takers.flatMap((taker) => taker.stale),
    add: (rows) => {
      pool.add(rows);
      serveTakers(queue);
    },
    putBack: (grant) => {
      pool.putBack(grant);
      advance(queue);
    },
    settle: (grant, use) => {
      pool.settle(grant, use);
      advance(queue);
    },
    reset: (rows, recorded) => {
      pool.reset(rows, recorded);
      advance(queue);
    },
    take: (request, open) => take(queue, request, open),
    admit: (size, store) => admit(queue, size, store),
    finish: () => {
      queue.finished = true;
      admitPuts(queue);
      serveTakers(queue);
    },
    rejectAll: (error) => {
      queue.stopWaiting();
      for (const taker of queue.takers.splice(0)) taker.reject(error);
      for (const put of queue.puts.splice(0)) put.reject(error);
    },
  };
}

interface QueueState {
  readonly pool: RowPool;
  readonly clock: RowQueueOptions['clock'];
  /** Waiting takers. They are served in the order in which they arrived. */
  readonly takers: Taker[];
  readonly puts: WaitingPut[];
  readonly capacity: number;
  lastExploreStep: number;
  finished: boolean;
  /** Cancels the wait for rows that become available later. */
  stopWaiting: () => void;
}

interface Taker {
  readonly request: BatchRequest;
  /** Rows that were removed from the pool as too old for this taker's batch, in queue order. */
  readonly stale: StoredRow[];
  readonly serve: (picked: Pick<Grant, 'used' | 'recordedStep'>) => void;
  /** Ends the call with the result `undefined`, because no rows are left. */
  readonly end: () => void;
  readonly reject: (error: Error) => void;
}

interface WaitingPut {
  readonly size: number;
  readonly store: () => void;
  readonly reject: (error: Error) => void;
}

function advance(queue: QueueState): void {
  serveTakers(queue);
  admitPuts(queue);
}

function serveTakers(queue: QueueState): void {
  queue.stopWaiting();
  const { pool } = queue;
  for (let taker = queue.takers[0]; taker; taker = queue.takers[0]) {
    const { used, stale, complete, recordedStep } = pool.pick(taker.request, queue);
    taker.stale.push(...stale);
    const ended = queue.finished && !pool.mayComeLater();
    if (!complete && !ended) return waitForLater(queue);
    queue.takers.shift();
    if (complete) taker.serve({ used, recordedStep });
    else taker.end();
  }
}

function waitForLater(queue: QueueState): void {
  const at = queue.pool.nextAt();
  const { clock } = queue;
  if (at === undefined || !clock) return;
  queue.stopWaiting = clock.after(Math.max(1, at - clock.now()), () => advance(queue));
}

function admitPuts(queue: QueueState): void {
  for (let put = queue.puts[0]; put; put = queue.puts[0]) {
    const { length } = queue.pool;
    const hasRoom = length === 0 || length + put.size <= queue.capacity;
    // A waiting taker needs more rows than there are. If the put waited for room, both would wait
    // forever.
    if (!hasRoom && queue.takers.length === 0 && !queue.finished) return;
    queue.puts.shift();
    put.store();
  }
}

function take<T>(
  queue: QueueState,
  { signal, ...request }: TakeRequest,
  open: (grant: Grant) => T,
): Promise<T | undefined> {
  const { pool } = queue;
  const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
  const stale: StoredRow[] = [];
  const taker: Taker = {
    request,
    stale,
    serve: (picked) => {
      stopListening();
      const grant = { ...picked, stale };
      try {
        resolve(open(grant));
      } catch (error) {
        pool.putBack(grant);
        reject(error as Error);
      }
    },
    end: () => {
      stopListening();
      pool.putBack({ used: [], stale });
      resolve(undefined);
    },
    reject: (error) => {
      stopListening();
      pool.putBack({ used: [], stale });
      reject(error);
    },
  };
  const onAbort = (): void => {
    queue.takers.splice(queue.takers.indexOf(taker), 1);
    taker.reject(takeCancelledError(request, pool.length, signal?.reason));
    advance(queue);
  };
  const stopListening = (): void => signal?.removeEventListener('abort', onAbort);
  signal?.addEventListener('abort', onAbort, { once: true });
  queue.takers.push(taker);
  advance(queue);
  return promise;
}

function admit(queue: QueueState, size: number, store: () => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const storeAndSettle = (): void => {
    try {
      store();
      resolve();
    } catch (error) {
      reject(error as Error);
    }
  };
  queue.puts.push({ size, store: storeAndSettle, reject });
  admitPuts(queue);
  return promise;
}
