/**
 * The queue of an experience store: rows first in, first out, the takers that wait for them, and
 * the puts that wait for room.
 */
import { takeCancelledError } from './errors.js';
import { pickBatch, type BatchRequest } from './pick-batch.js';
import type { StoredRow } from './row-driver.js';

/** What a taker gets. Both parts are used up together. */
export interface Grant {
  /** Rows to train on. */
  readonly used: readonly StoredRow[];
  /** Rows before them that are too old for the taker. */
  readonly stale: readonly StoredRow[];
}

interface TakeRequest extends BatchRequest {
  readonly signal: AbortSignal | undefined;
}

export interface RowQueue {
  /** Rows in the queue. */
  readonly length: number;
  /** Takers that wait for rows which are not there or not released. */
  readonly waitingTakers: number;
  /** Rows of later explore steps are not given out. @default all are */
  releaseUpTo(exploreStep: number): void;
  /** Rows that waiting takers have set aside as stale. */
  setAside(): readonly StoredRow[];
  /** Appends new rows. */
  add(rows: readonly StoredRow[]): void;
  /** Returns rows to their old place. */
  putBack(grant: Grant): void;
  /** Replaces what is in the queue by these rows. */
  reset(rows: readonly StoredRow[]): void;
  /**
   * The oldest batch, see `pickBatch`; once finished, the remainder, then
   * `undefined`. `open` synchronously turns the grant into the caller's result, so that rows always
   * have one owner; if it throws, they return to the queue.
   * @throws CancelledError, and what `open` throws
   */
  take<T>(request: TakeRequest, open: (grant: Grant) => T): Promise<T | undefined>;
  /**
   * Runs `store` (which adds `size` rows) as soon as there is room; rejects with what it throws.
   */
  admit(size: number, store: () => void): Promise<void>;
  /** No more rows will come. */
  finish(): void;
  /** Rejects every waiting taker and put. */
  rejectAll(error: Error): void;
}

/** @param capacity see LeaseStoreOptions */
export function rowQueue(initial: readonly StoredRow[], capacity: number): RowQueue {
  const queue: QueueState = {
    rows: [...initial],
    takers: [],
    puts: [],
    capacity,
    lastExploreStep: Infinity,
    finished: false,
  };
  return {
    get length() {
      return queue.rows.length;
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
      for (const row of rows) queue.rows.push(row);
      serveTakers(queue);
    },
    putBack: ({ used, stale }) => {
      insert(queue, [...used, ...stale]);
      advance(queue);
    },
    reset: (rows) => {
      queue.rows = [...rows];
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
      for (const taker of queue.takers.splice(0)) taker.reject(error);
      for (const put of queue.puts.splice(0)) put.reject(error);
    },
  };
}

interface QueueState {
  /** In insertion order. */
  rows: StoredRow[];
  /** First come, first served. */
  readonly takers: Taker[];
  readonly puts: WaitingPut[];
  readonly capacity: number;
  lastExploreStep: number;
  finished: boolean;
}

interface Taker {
  readonly request: BatchRequest;
  /** Set aside for this taker, in the order in which they were in the queue. */
  readonly stale: StoredRow[];
  readonly serve: (used: readonly StoredRow[]) => void;
  /** Nothing is left for it. */
  readonly end: () => void;
  readonly reject: (error: Error) => void;
}

interface WaitingPut {
  readonly size: number;
  readonly store: () => void;
  readonly reject: (error: Error) => void;
}

function insert(queue: QueueState, rows: readonly StoredRow[]): void {
  if (rows.length > 0) queue.rows = [...queue.rows, ...rows].sort((a, b) => a.id - b.id);
}

function advance(queue: QueueState): void {
  serveTakers(queue);
  admitPuts(queue);
}

function serveTakers(queue: QueueState): void {
  for (let taker = queue.takers[0]; taker; taker = queue.takers[0]) {
    const used = pickRows(queue, taker);
    if (!used && !queue.finished) return;
    queue.takers.shift();
    if (used) taker.serve(used);
    else taker.end();
  }
}

function admitPuts(queue: QueueState): void {
  for (let put = queue.puts[0]; put; put = queue.puts[0]) {
    const { length } = queue.rows;
    const hasRoom = length === 0 || length + put.size <= queue.capacity;
    // A waiting taker needs more rows than there are: a put that waited for it would stop both.
    if (!hasRoom && queue.takers.length === 0 && !queue.finished) return;
    queue.puts.shift();
    put.store();
  }
}

/**
 * Removes a batch from the queue, and sets aside the stale rows before it. Undefined when there are
 * too few rows, which then stay.
 */
function pickRows(queue: QueueState, taker: Taker): readonly StoredRow[] | undefined {
  const { used, stale, complete } = pickBatch(queue.rows, taker.request, queue);
  taker.stale.push(...stale);
  const rest = queue.rows.slice(used.length + stale.length);
  queue.rows = complete ? rest : [...used, ...rest];
  return complete ? used : undefined;
}

function take<T>(
  queue: QueueState,
  { signal, ...request }: TakeRequest,
  open: (grant: Grant) => T,
): Promise<T | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
  const stale: StoredRow[] = [];
  const taker: Taker = {
    request,
    stale,
    serve: (used) => {
      stopListening();
      try {
        resolve(open({ used, stale }));
      } catch (error) {
        insert(queue, [...used, ...stale]);
        reject(error as Error);
      }
    },
    end: () => {
      stopListening();
      insert(queue, stale);
      resolve(undefined);
    },
    reject: (error) => {
      stopListening();
      insert(queue, stale);
      reject(error);
    },
  };
  const onAbort = (): void => {
    queue.takers.splice(queue.takers.indexOf(taker), 1);
    taker.reject(takeCancelledError(request, queue.rows.length, signal?.reason));
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
