/** Which requests of a rollout are being answered, and which answers may have to be given again. */
import { CancelledError } from '@trinity-rft/core';
import type { Counters } from '../../rollout/counters.js';
import type { EndpointPolicy } from './endpoint-policy.js';

/** A finished generation, whatever its answer looks like. */
export interface Recorded {
  /** Of the recorded call. */
  readonly callIndex: number;
}

interface Claim {
  /** Equal for equal requests: route and digest of the body. */
  readonly key: string;
  /** The client says that it repeats a request (`x-stainless-retry-count` above 0). */
  readonly repeats: boolean;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
}

/** One client's share in an answer. */
export interface Taken<T> {
  /** Rejects with a CancelledError as soon as the client has gone. */
  readonly result: Promise<T>;
  /** The client has all of it. */
  delivered(): void;
  /** The client went away without it. Ends the generation when nobody else waits. */
  lost(): void;
}

export interface CallBook {
  /**
   * Starts `work`, joins the equal request that is being answered, or gives the recorded answer
   * again:
   * - an answer that no client received is given to the next equal request, for the first one came
   * back for it;
   * - a request that says it repeats gets the answer that is under way or finished;
   * - any other is a sample of its own, even of an equal prompt.
   */
  take<T extends Recorded>(claim: Claim, work: (signal: AbortSignal) => Promise<T>): Taken<T>;
  /**
   * Some request was refused for the moment: what repeats next may be that one, and no answer that
   * was delivered before is its.
   */
  refused(): void;
}

/** The part of the history that deliveries touch. */
export interface Deliveries {
  /** Leaves a call out of the experiences, unless something refers to it. */
  markUndelivered(callIndex: number): void;
  /** A client has this call's answer after all. */
  refer(callIndex: number): void;
}

interface Entry {
  readonly result: Promise<Recorded>;
  /** Ends the generation; undefined when it has finished. */
  generation: AbortController | undefined;
  /** Clients that wait for the answer or receive it. */
  clients: number;
  finished?: Recorded;
  delivered: boolean;
}

/** Repeats follow closely; older answers are forgotten. */
const rememberedAnswers = 16;

/** `signal` ends every generation. */
interface CallBookOptions extends Pick<EndpointPolicy, 'equalRequests'> {
  readonly signal?: AbortSignal;
}

export function createCallBook(
  options: CallBookOptions,
  deliveries: Deliveries,
  counters: Pick<Counters, 'add'>,
): CallBook {
  const entries = new Map<string, Entry>();
  const running = new Set<AbortController>();
  const { equalRequests, signal: over } = options;
  // One listener for all of them: signals that depend on others are dear.
  const endAll = (): void => {
    for (const generation of running) generation.abort(over?.reason);
  };
  const begin = (generation: AbortController): void => {
    if (over?.aborted) return generation.abort(over.reason);
    if (running.size === 0) over?.addEventListener('abort', endAll);
    running.add(generation);
  };
  const end = (generation: AbortController): void => {
    if (running.delete(generation) && running.size === 0)
      over?.removeEventListener('abort', endAll);
  };

  const start = (key: string, work: (signal: AbortSignal) => Promise<Recorded>): Entry => {
    const generation = new AbortController();
    begin(generation);
    const entry: Entry = {
      result: work(generation.signal),
      generation,
      clients: 0,
      delivered: false,
    };
    entries.set(key, entry);
    entry.result.then(
      (finished) => {
        end(generation);
        entry.finished = finished;
        entry.generation = undefined;
        forget(entries, key, entry);
      },
      // A failed call was not recorded: its repetition is a new one.
      () => {
        end(generation);
        if (entries.get(key) === entry) entries.delete(key);
      },
    );
    return entry;
  };

  const find = ({ key, repeats }: Claim): Entry | undefined => {
    const entry = entries.get(key);
    if (!entry || entry.generation?.signal.aborted) return undefined;
    const wanted = entry.finished
      ? repeats || (entry.clients === 0 && !entry.delivered)
      : repeats || equalRequests === 'join';
    return wanted ? entry : undefined;
  };

  const leave = (key: string, entry: Entry, why: unknown): void => {
    entry.clients--;
    if (entry.clients > 0 || entry.delivered) return;
    if (!entry.finished) {
      entry.generation?.abort(why);
      if (entries.get(key) === entry) entries.delete(key);
      return;
    }
    counters.add('undelivered');
    deliveries.markUndelivered(entry.finished.callIndex);
  };

  const arrive = (entry: Entry): void => {
    entry.clients--;
    if (entry.delivered) return;
    entry.delivered = true;
    if (entry.finished) deliveries.refer(entry.finished.callIndex);
  };

  return {
    refused: () => {
      for (const [key, entry] of entries)
        if (entry.finished && entry.delivered) entries.delete(key);
    },
    take: <T extends Recorded>(
      claim: Claim,
      work: (signal: AbortSignal) => Promise<T>,
    ): Taken<T> => {
      const found = find(claim);
      if (found) counters.add('replayed');
      const entry = found ?? start(claim.key, work);
      entry.clients++;
      const { promise: gone, reject } = Promise.withResolvers<never>();
      let open = true;
      const close = (end: () => void): void => {
        if (!open) return;
        open = false;
        claim.signal.removeEventListener('abort', lost);
        end();
      };
      const lost = (): void =>
        close(() => {
          const why = clientGone(claim.signal.reason);
          reject(why);
          leave(claim.key, entry, why);
        });
      claim.signal.addEventListener('abort', lost, { once: true });
      if (claim.signal.aborted) lost();
      const result = Promise.race([entry.result, gone]) as Promise<T>;
      // Who asks for the result hears of failures; a heartbeat that has ended does not.
      result.catch(() => close(() => entry.clients--));
      return { result, delivered: () => close(() => arrive(entry)), lost };
    },
  };
}

function forget(entries: Map<string, Entry>, key: string, newest: Entry): void {
  if (entries.get(key) !== newest) return;
  entries.delete(key);
  entries.set(key, newest);
  const finished = [...entries].filter(([, entry]) => entry.finished && entry.clients === 0);
  for (const [old] of finished.slice(0, Math.max(0, finished.length - rememberedAnswers)))
    entries.delete(old);
}

const clientGone = (cause: unknown): CancelledError =>
  new CancelledError('The client went away before it had its answer.', {
    code: 'CLIENT_GONE',
    reason: 'aborted',
    cause,
  });
