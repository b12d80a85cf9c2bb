/**
 * Takes the experiences of a train step. While it waits for them, logs warnings at regular
 * intervals.
 */
import type { Runtime } from '@trinity-rft/core';
import type { ExperienceSource, Lease, TakeFilter } from '@trinity-rft/core/store';

export interface TakeBatchOptions {
  readonly source: ExperienceSource;
  readonly trainBatchSize: number;
  readonly filter?: (step: number) => TakeFilter;
  /** Time between two log messages, in ms. */
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
  const settled = new AbortController();
  void reportWaiting(step, options, settled.signal);
  try {
    return await pending;
  } finally {
    settled.abort();
    sync?.setTrainerWaiting(false);
  }
}

async function reportWaiting(
  step: number,
  { trainBatchSize, filter, maxReadTimeoutMs, runtime }: TakeBatchOptions,
  settled: AbortSignal,
): Promise<void> {
  const { unit = 'experiences' } = filter?.(step) ?? {};
  const wanted = trainBatchSize === Infinity ? unit : `${trainBatchSize} ${unit}`;
  for (let waitedMs = maxReadTimeoutMs; ; waitedMs += maxReadTimeoutMs) {
    try {
      await runtime.clock.sleep(maxReadTimeoutMs, settled);
    } catch {
      return;
    }
    runtime.logger.warn(
      `Train step ${step} has been waiting for ${wanted} for ${Math.round(waitedMs / 1000)} s (buffer max_read_timeout).`,
    );
  }
}
