/** Retries calls for a limited time while a server cannot be reached. */
import { describeError, type Clock, BufferError, CancelledError, sleep } from '@trinity-rft/core';
import { PassingError, type PostgresPlace } from './postgres-errors.js';
import type { Patience } from './run-database.js';

export interface ReconnectOptions extends Pick<Patience, 'stop'>, Required<Omit<Patience, 'stop'>> {
  readonly place: PostgresPlace;
  readonly clock: Pick<Clock, 'after'>;
}

export interface Again {
  <T>(work: () => Promise<T>): Promise<T>;
  /** Stops all retries. */
  end(): void;
}

const [firstPauseMs, longestPauseMs] = [20, 2000];

export function untilItAnswers(options: ReconnectOptions): Again {
  const { place, patienceMs, clock, onNotice, stop } = options;
  const ended = new AbortController();
  let isOut = false;
  const noteOutage = (error: PassingError): void => {
    if (!isOut && error.isUnreachable)
      onNotice(`${error.message} Trying again for ${patienceMs / 1000} s.`);
    isOut ||= error.isUnreachable;
  };
  const noteAnswer = (): void => {
    if (isOut)
      onNotice(`PostgreSQL at ${place.server}, database ${place.database}, answers again.`);
    isOut = false;
  };
  const again = async <T>(work: () => Promise<T>): Promise<T> => {
    const start = performance.now();
    for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longestPauseMs)) {
      try {
        const result = await work();
        noteAnswer();
        return result;
      } catch (error) {
        if (!(error instanceof PassingError) || ended.signal.aborted) throw error;
        if (performance.now() - start > patienceMs) throw outOfPatience(error, patienceMs);
        if (error.isUnreachable && stop?.aborted) throw stopped(error, stop);
        noteOutage(error);
      }
      // Random jitter, so that two conflicting transactions do not retry at the same moment.
      await sleep(clock, pause * (0.5 + Math.random() / 2), ended.signal).catch(() => undefined);
    }
  };
  return Object.assign(again, { end: () => ended.abort() });
}

const stopped = (cause: PassingError, { reason }: AbortSignal): CancelledError =>
  new CancelledError(`${cause.message} It is not tried again: ${describeError(reason)}.`, {
    reason: 'shutdown',
    cause,
  });

const outOfPatience = (error: PassingError, patienceMs: number): BufferError =>
  new BufferError(`${error.message} It was tried for ${patienceMs / 1000} s.`, {
    code: error.code,
    cause: error.cause,
  });
