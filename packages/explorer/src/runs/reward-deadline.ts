/** How long a run may wait for its reward. */
import type { Clock } from '@trinity-rft/core';

const aDay = 86_400_000;

/** From now on, in milliseconds since the epoch. @param own what the workflow says */
export const rewardDeadline =
  (
    { maxRewardDelayMs = aDay }: { readonly maxRewardDelayMs?: number },
    clock: Pick<Clock, 'now'>,
  ) =>
  (own: number = maxRewardDelayMs): number =>
    clock.now() + own;
