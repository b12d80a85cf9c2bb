/** Results of requests that were accepted, until their client has fetched them. */
import { randomUUID } from 'node:crypto';
import { describeError, TrinityError, type Clock } from '@trinity-rft/core';
import { Refusal } from '../refusals/refusal.js';

export type FutureResult =
  | { readonly kind: 'json'; readonly body: object }
  | { readonly kind: 'protobuf'; readonly bytes: Uint8Array };

/** `pending`: the work is still under way. */
type FutureState = FutureResult | { readonly kind: 'pending' };

export interface Futures {
  /** Begins to wait for `work`. @returns the request id */
  add(work: Promise<FutureResult>): string;
  /**
   * The result, or `pending` once `timeoutMs` have passed. A failure is a result, too: the client is
   * told what was wrong with its request, and does not repeat it.
   * @throws Refusal 404 when there is no such request, or its result was kept for long enough
   */
  result(requestId: string, timeoutMs: number): Promise<FutureState>;
  close(): void;
}

export interface FuturesOptions {
  readonly clock: Pick<Clock, 'sleep'>;
  /** How long a result is kept, in ms: a client that lost the answer asks again. @default 600_000 */
  readonly keepMs?: number;
}

export function createFutures({ clock, keepMs = 600_000 }: FuturesOptions): Futures {
  const results = new Map<string, Promise<FutureResult>>();
  const closed = new AbortController();
  const forget = async (id: string, result: Promise<unknown>): Promise<void> => {
    await result;
    await clock.sleep(keepMs, closed.signal);
    results.delete(id);
  };
  return {
    add: (work) => {
      const id = randomUUID();
      const result = work.catch(failure);
      results.set(id, result);
      forget(id, result).catch(() => undefined);
      return id;
    },
    result: async (id, timeoutMs) => {
      const result = results.get(id);
      if (result === undefined)
        throw new Refusal(
          404,
          `There is no request ${id}. Its result was fetched long ago, or the server has been started again since: load the last saved weights and go on from there.`,
        );
      const patience = new AbortController();
      const late = clock.sleep(timeoutMs, patience.signal).then(
        () => ({ kind: 'pending' }) as const,
        () => ({ kind: 'pending' }) as const,
      );
      const state = await Promise.race([result, late]);
      patience.abort();
      return state;
    },
    close: () => closed.abort(),
  };
}

const failure = (error: unknown): FutureResult => ({
  kind: 'json',
  body: { error: describeError(error), category: isOfClient(error) ? 'user' : 'server' },
});

/** True if the request was at fault. */
const isOfClient = (error: unknown): boolean =>
  error instanceof Refusal || (TrinityError.is(error) && !lost.has(error.code));

const lost = new Set(['ENGINE_WORKER_DIED', 'ENGINE_CLOSED']);
