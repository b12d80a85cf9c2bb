/** Waits for users' functions, with a timeout per call and a time limit after an abort. */
import { type Clock, WorkflowError } from '@trinity-rft/core';
import { untilAborted, waitingFor, type WaitLog } from '@trinity-rft/core/support';

/** Timeout of each call of a user's function in ms, the same as for a rollout in training. */
export const callTimeoutMs = 3_600_000;

/**
 * Calls a user's function with a signal that aborts after an hour, or when `signal` aborts. Logs a
 * long wait.
 * @param what name of the function in the log and in the error
 * @throws the errors of `work`, and WorkflowError after an hour
 */
export async function timedCall<T>(
  what: string,
  { signal, clock, logger }: Stop & WaitLog,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = new AbortController();
  const cancel = clock.after(callTimeoutMs, () => timeout.abort(tooLong(what)));
  const ended = AbortSignal.any([signal, timeout.signal]);
  try {
    return await waitingFor({ clock, logger }, { what, cause: () => undefined }, () =>
      untilAborted(work(ended), timeout.signal),
    );
  } finally {
    cancel();
  }
}

const tooLong = (what: string): WorkflowError =>
  new WorkflowError(
    `${what} did not end within ${callTimeoutMs / 1000} s. Give its calls of other services a timeout.`,
    { code: 'CALL_TIMEOUT' },
  );

/** Maximum wait for work in progress after an abort, in ms. */
const graceMs = 5000;

export interface Stop {
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/**
 * Returns the results in order. If promises reject, rejects with the first reason in order once all
 * have settled, so that no work continues in the background. Work that has not ended 5 seconds
 * after an abort is abandoned, and the signal's reason is thrown.
 */
export async function allEnded<T>(
  promises: readonly Promise<T>[],
  { signal, clock }: Stop,
): Promise<readonly T[]> {
  await endedOrAborted(promises, signal);
  if (signal.aborted && !(await endsInTime(promises, clock))) signal.throwIfAborted();
  return Promise.all(promises);
}

/** Resolves when all promises have settled or `signal` aborts. */
export const endedOrAborted = (
  promises: readonly Promise<unknown>[],
  signal: AbortSignal,
): Promise<unknown> => untilAborted(Promise.allSettled(promises), signal).catch(() => undefined);

const endsInTime = (promises: readonly Promise<unknown>[], clock: Clock): Promise<boolean> =>
  new Promise((resolve) => {
    const cancel = clock.after(graceMs, () => resolve(false));
    void Promise.allSettled(promises).then(() => {
      cancel();
      resolve(true);
    });
  });
