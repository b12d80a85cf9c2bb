/** Waits for work that runs concurrently, with a limit after an abort. */
import type { Clock } from '@trinity-rft/core';
import { untilAborted } from '@trinity-rft/core/support';

/** Maximum time that work in progress gets to end after an abort, in ms. */
const graceMs = 5000;

export interface Stop {
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/**
 * Returns the results in order. If a promise rejects, rejects with the first reason in order, when
 * all promises have settled, so that no work continues in the background. Work that has not ended 5
 * seconds after an abort is abandoned, and the signal's reason is thrown.
 */
export async function allEnded<T>(
  promises: readonly Promise<T>[],
  { signal, clock }: Stop,
): Promise<readonly T[]> {
  await endedOrAborted(promises, signal);
  if (signal.aborted && !(await endsInTime(promises, clock))) signal.throwIfAborted();
  return Promise.all(promises);
}

/** Resolves when all promises have settled, or at an abort. */
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
