/** Functions that wait with a deadline, and the errors with which such waits fail. */
import { EnvironmentError, type Clock, CancelledError, systemClock } from '@trinity-rft/core';

export interface Patience {
  readonly ms: number;
  readonly signal: AbortSignal;
  /** Clock of the deadline. @default the system clock */
  readonly clock?: Pick<Clock, 'after'>;
}

/**
 * Returns the result of `work`, or throws the error of `late` after `ms` milliseconds. The signal
 * that `work` receives aborts on the timeout and when `signal` aborts.
 * @throws CancelledError if `signal` aborts, the error of `late` on timeout, and the errors of
 * `work`
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

/**
 * Waits for `work`, but stops waiting when `signal` aborts. The work continues.
 * @throws CancelledError if `signal` aborts, and the errors of `work`
 */
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

/**
 * Creates the error for an environment that failed. `message` should name the server or command,
 * the request, and what the user can do.
 */
export const broken = (code: string, message: string, cause?: unknown): EnvironmentError =>
  new EnvironmentError(message, { code, cause });

/** Phase of an episode: its start, or everything after that. */
export type Phase = 'start' | 'step';

/**
 * Returns the names of the settings to raise after a driver's timeout: the driver's own time limit,
 * and that of the play loop, which applies as well.
 */
export const limitsOf = (
  phase: Phase,
  key = phase === 'step' ? 'timeout' : 'start_timeout',
): string =>
  `environment_args.${key} and workflow_args.environment_${phase === 'step' ? '' : 'start_'}timeout`;

/** Truncates text from outside, such as a server's response, for error messages. */
export const shorten = (text: string, length = 300): string =>
  text.length > length ? `${text.slice(0, length)} ...` : text;
