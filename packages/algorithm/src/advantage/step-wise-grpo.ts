/** Group-relative advantage of whole runs of several steps. */
import {
  booleanArg,
  choiceArg,
  gatherMetrics,
  groupBy,
  numberArg,
  runKey,
  taskKey,
  type AdvantageFn,
  type Experience,
} from '@trinity-rft/core';
import { definePart } from '../part.js';
import { batchStd, groupStats, isDropped, rewardOf, withScore, zeroVarianceRatio, type GroupStats } from './groups.js';

const args = {
  /** Added to the standard deviation. */
  epsilon: numberArg(1e-6, { min: 0 }),
  /** Divide the score by the number of experiences of the run, so that long runs weigh no more than short ones. */
  enableStepNorm: booleanArg(false),
  /** Whose deviation scales the score. */
  stdCalLevel: choiceArg(['group', 'batch'], 'group'),
  /** Tasks whose deviation is at most this, and tasks with one run, are dropped. Unset: none are. */
  stdThreshold: numberArg(undefined, { min: 0 }),
};

interface Group {
  /** Experiences of each run, by rising step. */
  readonly runs: readonly (readonly Experience[])[];
  /** Of each run: that of its last step. */
  readonly rewards: readonly number[];
  readonly stats: GroupStats;
}

/**
 * (r_k - mean(r)) / (std(r) + epsilon) over the runs k of one task, where r_k is the reward of the run's last step by
 * `eid.step`; every trained token of the run gets it. A single run gets its reward.
 *
 * Metrics: `group_advantages/{reward_mean,reward_std}/{mean,max,min}` (dropped tasks included),
 * `group_advantages/zero_variance_ratio`, `experience_count` (kept), `filtered_count`, `skipped_group_ratio`.
 */
export const stepWiseGrpo = definePart(args, (options, _seed: number): AdvantageFn => (experiences) => {
  if (experiences.length === 0) return { experiences, metrics: {} };
  const groups = [...groupBy(experiences, ({ eid }) => taskKey(eid)).values()].map(toGroup);
  const kept = groups.filter(({ stats }) => !isDropped(stats, options.stdThreshold));
  const all = batchStd(groups.flatMap(({ rewards }) => rewards));
  const scored = kept.flatMap(({ runs, rewards, stats }) => {
    const std = options.stdCalLevel === 'batch' ? all : stats.std;
    return runs.flatMap((run, k) => {
      const score = (rewards[k]! - stats.mean) / (std + options.epsilon);
      return run.map((experience) => withScore(experience, options.enableStepNorm ? score / run.length : score));
    });
  });
  return {
    experiences: scored,
    metrics: {
      ...gatherMetrics(
        groups.map(({ stats }) => ({ reward_mean: stats.mean, reward_std: stats.std })),
        'group_advantages',
      ),
      'group_advantages/zero_variance_ratio': zeroVarianceRatio(groups.map(({ rewards }) => rewards)),
      experience_count: scored.length,
      filtered_count: experiences.length - scored.length,
      skipped_group_ratio: (groups.length - kept.length) / groups.length,
    },
  };
});

function toGroup(experiences: readonly Experience[]): Group {
  const runs = [...groupBy(experiences, ({ eid }) => runKey(eid)).values()].map((run) => run.toSorted((a, b) => a.eid.step - b.eid.step));
  const rewards = runs.map((run) => rewardOf(run.at(-1)!));
  return { runs, rewards, stats: groupStats(rewards) };
}
