/** Forwards rewards that explorers have received to the runs that wait for them at the trainer. */
import { scoreRun, waitingRuns } from '@trinity-rft/buffer/late-rewards';
import { type Clock, type Logger, describeError } from '@trinity-rft/core';
import type { Membership, RunStore } from '@trinity-rft/core/store';

export interface ForwardOptions {
  readonly store: Pick<RunStore, 'takeRewards'>;
  readonly member: Membership;
  /** File of the late rewards. */
  readonly file: string;
  /** The last explore step whose experiences are stored or wait for rewards. */
  readonly exploreStep: () => number;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly logger: Logger;
  readonly everyMs: number;
  readonly signal: AbortSignal;
}

/** Forwards rewards until the signal aborts. */
export async function forwardRewards(options: ForwardOptions): Promise<void> {
  const { store, member, file, exploreStep, clock, logger, everyMs, signal } = options;
  /** Last explore step whose waiting runs are already in `file`. */
  let settled = 0;
  let failing = false;
  while (!signal.aborted) {
    const step = exploreStep();
    try {
      const waiting = waitingRuns(file).map(({ run }) => run);
      const rewards = await store.takeRewards(member, waiting, settled);
      for (const [run, reward] of rewards) scoreRun(file, run, reward);
      failing = false;
      settled = step;
    } catch (error) {
      if (!failing) logger.warn(`Late rewards could not be read: ${describeError(error)}`);
      failing = true;
    }
    await clock.sleep(everyMs, signal).catch(() => undefined);
  }
}
