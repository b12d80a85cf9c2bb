/**
 * Rewards of the runs that fault benchmarks disturb. Untrained models also get partial rewards, so that
 * groups differ and weights change.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { defineReward } from '../../../packages/workflow/src/index.ts';

const shareOfDigits = (response: string): number =>
  [...response].filter((c) => c >= '0' && c <= '9').length / 4;

export const digits = defineReward({
  name: 'digits',
  score: ({ response }) => shareOfDigits(response),
});

const longestPauseMs = 800;

/** Reward function that takes as long as an agent with tools, so that faults hit processes in the middle of tasks. */
export const slowDigits = defineReward({
  name: 'slow_digits',
  score: async ({ response }) => {
    await pause(Math.random() * longestPauseMs);
    return shareOfDigits(response);
  },
});
