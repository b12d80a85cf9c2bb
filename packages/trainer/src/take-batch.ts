/** Takes the experiences of a train step, and logs what it waits for. */
import type { Runtime } from '@trinity-rft/core';
import type { ExperienceSource, Lease, TakeFilter } from '@trinity-rft/core/store';

export interface TakeBatchOptions {
  readonly source: ExperienceSource;
  readonly trainBatchSize: number;
  readonly filter?: (step: number) => TakeFilter;
  /** Time between two warnings, in ms. */
  readonly maxReadTimeoutMs: number;
  readonly sync?: { setTrainerWaiting(waiting: boolean): void };
  readonly runtime: Pick<Runtime, 'clock' | 'logger'>;
  readonly signal: AbortSignal;
}

/**
 * Leases the batch of a train step; resolves with undefined if the source has ended.
 * @throws CancelledError when the signal aborts
 */
export async function takeBatch(
  step: number,
  options: TakeBatchOptions,
): Promise<Lease | undefined> {
  const { source, trainBatchSize, filter, sync, signal } = options;
  // The trainer is reported as waiting even if experiences are available at once. The synchronizer
  // does not rely on this alone: it also asks the store whether the trainer lacks experiences.
  const pending = source.take(trainBatchSize, filter?.(step), signal);
  sync?.setTrainerWaiting(true);
  const endReport = beginReport(step, options);
  try {
    return await pending;
  } finally {
    endReport();
    sync?.setTrainerWaiting(false);
  }
}

/**
 * Logs the wait after five seconds, and a warning after every `maxReadTimeoutMs`.
 * @returns function to call when the wait is over
 */
function beginReport(
  step: number,
  { trainBatchSize, filter, maxReadTimeoutMs, runtime: { clock, logger } }: TakeBatchOptions,
): () => void {
  const { unit = 'experiences' } = filter?.(step) ?? {};
  const counted = trainBatchSize === 1 ? unit.slice(0, -1) : unit;
  const wanted = trainBatchSize === Infinity ? unit : `${trainBatchSize} ${counted}`;
  const cancelFirst = clock.after(silentMs, () =>
    logger.info(`Train step ${step} waits for ${wanted}.`),
  );
  const warnAfter = (waitedMs: number): (() => void) =>
    clock.after(maxReadTimeoutMs, () => {
      logger.warn(
        `Train step ${step} has been waiting for ${wanted} for ${Math.round(waitedMs / 1000)} s (buffer max_read_timeout).`,
      );
      cancelWarning = warnAfter(waitedMs + maxReadTimeoutMs);
    });
  let cancelWarning = warnAfter(maxReadTimeoutMs);
  return () => {
    cancelFirst();
    cancelWarning();
  };
}

/** Milliseconds before the first log line of a wait. */
const silentMs = 5000;
