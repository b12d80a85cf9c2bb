/** The steps of a run with the rewards that follow them. */
import type { Experience } from '@trinity-rft/core';
import { rewardOf } from './groups.js';

export interface Step {
  readonly experience: Experience;
  /** Discounted sum of this and later step rewards. */
  readonly toGo: number;
  /** Undiscounted sum over its run. */
  readonly total: number;
}

/**
 * By rising `eid.step`. A step's reward is its `info.step_reward`, 0 where it has none; where no
 * step of the run has one, the last step has the run's reward and the others 0.
 * @throws RewardError for a reward that is missing or not finite
 */
export function toSteps(run: readonly Experience[], gamma: number): readonly Step[] {
  const ordered = run.toSorted((a, b) => a.eid.step - b.eid.step);
  const given = ordered
    .map(({ info }) => info['step_reward'])
    .map((value) => (typeof value === 'number' ? value : undefined));
  const rewards = given.every((value) => value === undefined)
    ? ordered.map((experience, i) => (i === ordered.length - 1 ? rewardOf(experience) : 0))
    : given.map((value, i) => rewardOf({ ...ordered[i]!, reward: value ?? 0 }));
  const total = rewards.reduce((sum, reward) => sum + reward, 0);
  const toGo = [...rewards];
  for (let t = toGo.length - 2; t >= 0; t--) toGo[t]! += gamma * toGo[t + 1]!;
  return ordered.map((experience, t) => ({ experience, toGo: toGo[t]!, total }));
}
