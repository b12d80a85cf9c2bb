/**
 * Request deduplication. Clients retry requests, and a retry must not become a second sample. For
 * each request, this module decides whether to start a generation, to join a generation in
 * progress, or to send a recorded response again.
 */
import { CancelledError } from '@trinity-rft/core';
import type { Counters } from '../../rollout/counters.js';
import type { PendingAnswer } from './answer/delivery.js';
import { createLiveAnswer, type LiveAnswer } from './answer/live-answer.js';
import { trackGenerations, type RunningGenerations } from './running-generations.js';

/** Result of a call in any protocol. Deduplication reads only its `callIndex`. */
export interface RecordedCall {
  readonly callIndex: number;
}

interface IncomingRequest {
  /** Key that equal requests share. It consists of the URL path and the digest of the body. */
  readonly key: string;
  /** True if the client marks the request as a retry (`x-stainless-retry-count` above 0). */
  readonly isRetry: boolean;
  /** Signal that aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/**
 * Starts a generation.
 * @param signal aborts when no client waits for the response any more, or when the rollout ends
 * @param live receives the response as it is generated, for clients that stream it
 */
type StartGeneration<T, Head> = (signal: AbortSignal, live: LiveAnswer<Head>) => Promise<T>;

export interface RequestDeduplication {
  /**
   * Returns the response for one client:
   * - with `independentClients`, every request is a separate sample;
   * - a response that no client received is replayed for the next equal request, because the client
   * is assumed to have reconnected for it;
   * - a retry joins the running generation of an equal request, or gets its recorded response
   * again;
   * - every other request is a separate sample, even if its prompt is equal: agents that vote send
   * equal requests in parallel and need different responses.
   */
  answer<T extends RecordedCall, Head>(
    request: IncomingRequest,
    generate: StartGeneration<T, Head>,
  ): PendingAnswer<T, Head>;
}

/** The methods of the history that record whether a response was delivered. */
export interface Deliveries {
  /** Excludes the experiences of a call until its response is delivered. */
  markUndelivered(callIndex: number): void;
  markDelivered(callIndex: number): void;
}

/** The response for one key, finished or in progress. */
interface Entry {
  readonly key: string;
  readonly result: Promise<RecordedCall>;
  readonly live: LiveAnswer<unknown>;
  /** Controller that aborts the generation; undefined once the generation has finished. */
  generation: AbortController | undefined;
  finished: RecordedCall | undefined;
  /** Number of clients that wait for the response or are receiving it. */
  clients: number;
  delivered: boolean;
}

interface State {
  /**
   * The latest call for each key. Empty with `independentClients`. Earlier calls with the same key
   * can no longer be joined or replayed. Finished entries are in the order in which they finished.
   */
  readonly entries: Map<string, Entry>;
  readonly running: RunningGenerations;
  readonly deliveries: Deliveries;
  readonly isShared: boolean;
}

/**
 * Maximum number of finished responses to keep after all their clients have left. A small number is
 * enough, because retries arrive soon.
 */
const maxFinished = 16;

export function createRequestDeduplication(
  options: { readonly signal?: AbortSignal; readonly independentClients?: boolean },
  deliveries: Deliveries,
  counters: Pick<Counters, 'add'>,
): RequestDeduplication {
  const state: State = {
    entries: new Map(),
    running: trackGenerations(options.signal),
    deliveries,
    isShared: options.independentClients !== true,
  };
  return {
    answer: <T extends RecordedCall, Head>(
      request: IncomingRequest,
      generate: StartGeneration<T, Head>,
    ) => {
      const existing = findAnswer(state, request);
      if (existing) counters.add('replayed');
      const entry = existing ?? startAnswer(state, request.key, generate);
      return attachClient(state, entry, request.signal) as PendingAnswer<T, Head>;
    },
  };
}

/**
 * Returns the entry whose response answers the request, or undefined if a new response must be
 * sampled.
 */
function findAnswer({ entries }: State, { key, isRetry }: IncomingRequest): Entry | undefined {
  const entry = entries.get(key);
  if (!entry || entry.generation?.signal.aborted) return undefined;
  if (isRetry) return entry;
  const undelivered = entry.finished && entry.clients === 0 && !entry.delivered;
  return undelivered ? entry : undefined;
}

function startAnswer<Head>(
  state: State,
  key: string,
  generate: StartGeneration<RecordedCall, Head>,
): Entry {
  const { entries, running } = state;
  const generation = running.start();
  const live = createLiveAnswer<Head>();
  const entry: Entry = {
    key,
    result: generate(generation.signal, live),
    live,
    generation,
    finished: undefined,
    clients: 0,
    delivered: false,
  };
  if (state.isShared) entries.set(key, entry);
  entry.result.then(
    (finished) => {
      running.finish(generation);
      if (generation.signal.aborted) state.deliveries.markUndelivered(finished.callIndex);
      entry.finished = finished;
      entry.generation = undefined;
      keepFinished(entries, entry);
    },
    // A failed call does not become an experience, so its retry is a new call.
    () => {
      running.finish(generation);
      remove(entries, entry);
    },
  );
  return entry;
}

/**
 * Moves a finished entry to the end of the map. Drops the oldest finished entries that have no
 * clients, so that at most `maxFinished` remain.
 */
function keepFinished(entries: Map<string, Entry>, entry: Entry): void {
  if (!remove(entries, entry)) return;
  entries.set(entry.key, entry);
  const finished = [...entries.values()].filter((one) => one.finished && one.clients === 0);
  for (const old of finished.slice(0, Math.max(0, finished.length - maxFinished)))
    entries.delete(old.key);
}

/**
 * Removes an entry, unless a newer entry has replaced it. Returns true if the entry was removed.
 */
const remove = (entries: Map<string, Entry>, entry: Entry): boolean =>
  entries.get(entry.key) === entry && entries.delete(entry.key);

function attachClient(
  state: State,
  entry: Entry,
  signal: AbortSignal,
): PendingAnswer<RecordedCall, unknown> {
  entry.clients++;
  const { promise: disconnected, reject } = Promise.withResolvers<never>();
  let attached = true;
  const detach = (): boolean => {
    if (!attached) return false;
    attached = false;
    signal.removeEventListener('abort', lost);
    entry.clients--;
    return true;
  };
  const lost = (): void => {
    if (!detach()) return;
    const reason = clientGone(signal.reason);
    reject(reason);
    answerLost(state, entry, reason);
  };
  signal.addEventListener('abort', lost, { once: true });
  if (signal.aborted) lost();
  const result = Promise.race([entry.result, disconnected]);
  // Detaches the client on a failure, and prevents an unhandled rejection if nothing awaits
  // `result`.
  result.catch(detach);
  return {
    result,
    live: entry.live,
    delivered: () => detach() && answerDelivered(state, entry),
    lost,
  };
}

function answerDelivered({ deliveries }: State, entry: Entry): void {
  if (entry.delivered) return;
  entry.delivered = true;
  if (entry.finished) deliveries.markDelivered(entry.finished.callIndex);
}

/**
 * Handles a response that a client did not receive. Does nothing if another client has received the
 * response or still waits for it. Otherwise aborts the generation, or if it has finished, marks the
 * call as undelivered.
 */
function answerLost({ entries, deliveries }: State, entry: Entry, reason: unknown): void {
  if (entry.clients > 0 || entry.delivered) return;
  if (!entry.finished) {
    entry.generation?.abort(reason);
    remove(entries, entry);
    return;
  }
  deliveries.markUndelivered(entry.finished.callIndex);
}

const clientGone = (cause: unknown): CancelledError =>
  new CancelledError('The client disconnected before it received its answer.', {
    code: 'CLIENT_GONE',
    reason: 'aborted',
    cause,
  });
