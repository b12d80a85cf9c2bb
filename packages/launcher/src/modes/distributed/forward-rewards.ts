/**
 * Forwards rewards from the explorers that received them to the trainer's store, in which rollouts
 * wait for them.
 */
import { describeError, type Runtime } from '@trinity-rft/core';
import type { ExperienceStore, LateRewards, Membership, RunStore } from '@trinity-rft/core/store';

export interface ForwardOptions {
  readonly store: Pick<RunStore, 'takeRewards'>;
  readonly member: Membership;
  /** Returns the last explore step whose experiences are stored or wait for rewards. */
  readonly exploreStep: () => number;
  readonly runtime: Runtime;
  readonly everyMs: number;
  readonly signal: AbortSignal;
}

/**
 * Forwards rewards to the waiting rollouts of `inner` until the store is closed or the signal
 * aborts.
 */
export function withForwardedRewards(
  inner: ExperienceStore,
  options: ForwardOptions,
): ExperienceStore {
  const { lateRewards } = inner;
  if (!lateRewards) return inner;
  const closed = new AbortController();
  const signal = AbortSignal.any([options.signal, closed.signal]);
  const forwarded = forwardRewards(lateRewards, { ...options, signal });
  return {
    ...inner,
    close: async () => {
      closed.abort();
      await forwarded;
      await inner.close();
    },
  };
}

async function forwardRewards(lateRewards: LateRewards, options: ForwardOptions): Promise<void> {
  const { store, member, exploreStep, runtime, everyMs, signal } = options;
  const { clock, logger } = runtime;
  /** Last explore step whose waiting rollouts are already in `lateRewards`. */
  let settled = 0;
  let failing = false;
  while (!signal.aborted) {
    const step = exploreStep();
    try {
      const waiting = lateRewards.waiting().map(({ run }) => run);
      const rewards = await store.takeRewards(member, waiting, settled);
      for (const [run, reward] of rewards) lateRewards.score(run, reward);
      failing = false;
      settled = step;
    } catch (error) {
      if (!failing) logger.warn(`Late rewards could not be read: ${describeError(error)}`);
      failing = true;
    }
    await clock.sleep(everyMs, signal).catch(() => undefined);
  }
}
