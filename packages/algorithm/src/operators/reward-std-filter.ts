/** Drops groups whose rewards differ too little to give a learning signal. */
import { numberArg, gatherMetrics, mean } from '@trinity-rft/core';
import { populationDeviation, rewardOfRun } from '../advantages/shared/groups.js';
import { byTask, compareArg, membersOf } from '../advantages/shared/runs.js';
import { definePart, type OperatorPart } from '../parts/part.js';

/**
 * Drops groups according to the population standard deviation of the rewards of a task's rollouts.
 * Equal rewards have a standard deviation of exactly 0. Metrics: `filtered_count`,
 * `{reward_mean,reward_std}/{mean,max,min}` over groups of at least two rollouts.
 * @throws RewardError for an experience without a finite reward
 */
export const rewardStdFilter: OperatorPart = definePart({
  args: {
    compare: compareArg,
    threshold: numberArg(
      0,
      { min: 0 },
      'Groups whose reward deviation is at most this, and groups of one, are dropped.',
    ),
  },
  doc: {
    summary:
      'Drops groups of runs whose rewards hardly differ: they teach nothing relative to each other.',
    formula: 'keep group g where |g| > 1 and std(R_g) > threshold',
  },
  create:
    ({ compare, threshold }) =>
    (experiences) => {
      const groups = byTask(experiences)
        .map((task) => ({
          experiences: task,
          rewards: membersOf(task, compare).map(rewardOfRun),
        }))
        .filter(({ rewards }) => rewards.length > 1)
        .map((group) => ({ ...group, std: populationDeviation(group.rewards) }));
      const kept = groups
        .filter(({ std }) => std > threshold)
        .flatMap((group) => group.experiences);
      const stats = groups.map(({ rewards, std }) => ({
        reward_mean: mean(rewards),
        reward_std: std,
      }));
      return {
        experiences: kept,
        metrics: { filtered_count: experiences.length - kept.length, ...gatherMetrics(stats, '') },
      };
    },
});
