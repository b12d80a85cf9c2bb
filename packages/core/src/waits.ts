/** Waits that are logged, so that none is silent. */
import type { Clock, Logger } from './runtime.js';

/** Time until the first line about a wait, and longest time between two, in ms. */
const [silentMs, longestMs] = [5000, 60_000];
/** Work of the other side that takes longer is said on the terminal as well, in ms. */
const longWorkMs = 30_000;

export interface WaitLog {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/**
 * Why a wait lasts, and what to do; undefined while the other side is at work: then the lines of the
 * first half minute go to the log alone.
 */
export type WaitCause = () => string | undefined | Promise<string | undefined>;

/**
 * Warns that this process waits: after five seconds, then at growing intervals up to a minute.
 * @param what noun phrase after "Waiting for"
 * @param cause asked anew for each line. @default `what` says it all
 * @returns to be called when the wait is over
 */
export function beginWait(
  { clock, logger }: WaitLog,
  what: string,
  cause: WaitCause = () => '',
): () => void {
  const start = clock.now();
  let isOver = false;
  let isWarned = false;
  const tell = async (waitedMs: number): Promise<void> => {
    const next = Math.min(waitedMs, longestMs);
    cancel = clock.after(next, () => void tell(waitedMs + next));
    const why = await reason(cause);
    if (isOver) return;
    const line = `Waiting for ${what} (${seconds(waitedMs)} until now)`;
    if (why === undefined && waitedMs < longWorkMs) return logger.info(`${line}.`);
    isWarned = true;
    logger.warn(why ? `${line}: ${why}` : `${line}.`);
  };
  let cancel = clock.after(silentMs, () => void tell(silentMs));
  return () => {
    if (isOver) return;
    isOver = true;
    cancel();
    if (isWarned)
      logger.warn(`Waited ${seconds(clock.now() - start)} for ${what}; the wait is over.`);
  };
}

/** A cause that cannot be asked for must not end the work. */
async function reason(cause: WaitCause): Promise<string | undefined> {
  try {
    return await cause();
  } catch {
    return 'its state cannot be read now.';
  }
}

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;

/** Does `work`, and says so while it takes long: {@link beginWait}. */
export async function waitingFor<T>(
  log: WaitLog,
  { what, cause }: { readonly what: string; readonly cause?: WaitCause },
  work: () => Promise<T>,
): Promise<T> {
  const end = beginWait(log, what, cause);
  try {
    return await work();
  } finally {
    end();
  }
}
