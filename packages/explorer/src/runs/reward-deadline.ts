import type { Clock } from '@trinity-rft/core';

const aDay = 86_400_000;

/**
 * Creates a function that returns the deadline of a reward that is pending from now on, in
 * milliseconds since the epoch. Its parameter `own` is the delay in milliseconds that the workflow
 * sets. @default `maxRewardDelayMs`
 */
export const rewardDeadline =
  (
    { maxRewardDelayMs = aDay }: { readonly maxRewardDelayMs?: number },
    clock: Pick<Clock, 'now'>,
  ) =>
  (own: number = maxRewardDelayMs): number =>
    clock.now() + own;
