/** Waits with a deadline, and what they throw. */
import { EnvironmentError, type Clock, CancelledError, systemClock } from '@trinity-rft/core';

export interface Patience {
  readonly ms: number;
  readonly signal: AbortSignal;
  /** @default that of the system */
  readonly clock?: Pick<Clock, 'after'>;
}

/**
 * Result of `work`, or the error of `late` when it takes longer than `ms`. Its own signal
 * aborts then, and when `signal` does.
 * @throws CancelledError when `signal` aborts; what `late` returns; what `work` throws
 */
export async function within<T>(
  { ms, signal, clock = systemClock }: Patience,
  late: () => EnvironmentError,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (signal.aborted) throw cancelled(signal);
  const ended = new AbortController();
  const { promise, reject } = Promise.withResolvers<never>();
  const end = (error: Error): void => {
    reject(error);
    ended.abort(error);
  };
  const onAbort = (): void => end(cancelled(signal));
  const cancelTimer = clock.after(ms, () => end(late()));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work(ended.signal), promise]);
  } finally {
    cancelTimer();
    signal.removeEventListener('abort', onAbort);
  }
}

/** Stops waiting, not the work, when `signal` aborts. @throws CancelledError; what `work` throws */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(cancelled(signal));
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

export function cancelled({ reason }: AbortSignal): Error {
  if (reason instanceof CancelledError) return reason;
  return new CancelledError('The run has ended.', { reason: 'aborted', cause: reason });
}

/** An environment failed: `message` names the server or command, what was asked, and what to do. */
export const broken = (code: string, message: string, cause?: unknown): EnvironmentError =>
  new EnvironmentError(message, { code, cause });

/** Shortens texts from elsewhere in messages. */
export const shorten = (text: string, length = 300): string =>
  text.length > length ? `${text.slice(0, length)} ...` : text;
