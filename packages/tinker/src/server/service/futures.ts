/**
 * Results of accepted requests. They are kept for some time, so that a client can fetch a result
 * again.
 */
import { randomUUID } from 'node:crypto';
import { describeError, TrinityError, type Clock } from '@trinity-rft/core';
import { Refusal } from '../refusals/refusal.js';

export type FutureResult =
  | { readonly kind: 'json'; readonly body: object }
  | { readonly kind: 'protobuf'; readonly bytes: Uint8Array };

/** State of an accepted request: its result, or `pending` while the work is in progress. */
type FutureState = FutureResult | { readonly kind: 'pending' };

export interface Futures {
  /**
   * Keeps the result of `work` for the client.
   * @returns the request id with which the result can be fetched
   */
  add(work: Promise<FutureResult>): string;
  /**
   * Waits for the result of an accepted request. Returns `pending` if `timeoutMs` passes first. If
   * the work has failed, returns an error for which the client does not retry.
   * @throws Refusal 404 if the request is unknown, or its result has expired
   */
  result(requestId: string, timeoutMs: number): Promise<FutureState>;
  close(): void;
}

export interface FuturesOptions {
  readonly clock: Pick<Clock, 'sleep'>;
  /**
   * Time for which a result is kept, in ms. Clients that lose the response can fetch the result
   * again during this time.
   * @default 600_000
   */
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
          `There is no request ${id}. Its result has expired, or the server was restarted: load the last saved weights and continue from there.`,
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

/** Returns true if an error was caused by the client's request, not by the server. */
const isOfClient = (error: unknown): boolean =>
  error instanceof Refusal || (TrinityError.is(error) && !lost.has(error.code));

const lost = new Set(['ENGINE_WORKER_DIED', 'ENGINE_CLOSED']);
