/** Logs long waits with their causes. */
import type { Clock, Logger } from './runtime.js';

/** Milliseconds before the first log line of a wait, and maximum milliseconds between two lines. */
const [silentMs, longestMs] = [5000, 60_000];
/** Milliseconds after which the terminal shows a wait, even if the awaited process is working. */
const longWorkMs = 30_000;

export interface WaitLog {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/**
 * Returns the cause of a wait, with a remedy. Returns undefined while the awaited process is
 * working; the wait is then logged only to the file during its first half minute.
 */
export type WaitCause = () => string | undefined | Promise<string | undefined>;

/**
 * Logs that this process waits: first after five seconds, then at growing intervals of up to a
 * minute.
 * @param what noun phrase after "Waiting for", or a function that returns it for each line
 * @param cause returns the cause for each line. @default lines without a cause
 * @returns function to call when the wait is over
 */
export function beginWait(
  { clock, logger }: WaitLog,
  what: string | (() => string),
  cause: WaitCause = () => '',
): () => void {
  const start = clock.now();
  const named = typeof what === 'string' ? () => what : what;
  let isOver = false;
  let isWarned = false;
  const tell = async (waitedMs: number): Promise<void> => {
    const next = Math.min(waitedMs, longestMs);
    cancel = clock.after(next, () => void tell(waitedMs + next));
    const why = await reason(cause);
    if (isOver) return;
    const line = `Waiting for ${named()} (${seconds(waitedMs)} until now)`;
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
      logger.warn(`Waited ${seconds(clock.now() - start)} for ${named()}; the wait is over.`);
  };
}

/** Calls `cause` and catches its errors, because they must not end the awaited work. */
async function reason(cause: WaitCause): Promise<string | undefined> {
  try {
    return await cause();
  } catch {
    return 'its state cannot be read now.';
  }
}

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;

/** Calls `work`, and logs a long wait as {@link beginWait} does. */
export async function waitingFor<T>(
  log: WaitLog,
  { what, cause }: { readonly what: string | (() => string); readonly cause?: WaitCause },
  work: () => Promise<T>,
): Promise<T> {
  const end = beginWait(log, what, cause);
  try {
    return await work();
  } finally {
    end();
  }
}
