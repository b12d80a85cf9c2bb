/** Group-relative advantage: compares the rewards of the rollouts of one task. */
import {
  booleanArg,
  choiceArg,
  numberArg,
  type AdvantageFn,
  type ArgValues,
  type Experience,
} from '@trinity-rft/core';
import { defineAdvantagePart } from '../parts/advantage-part.js';
import {
  batchStd,
  dividing,
  groupMetrics,
  grpoSource,
  isDropped,
  relativeScores,
  stdCalLevels,
  stdOf,
  unevenMetrics,
  withScore,
} from './shared/groups.js';
import { byDeviation, byGroup } from './shared/group-scores.js';
import {
  checkDuplicates,
  duplicateGroups,
  rankArgs,
  toRankedGroup,
} from './shared/grpo-options.js';
import { byTask, compareArg, membersOf } from './shared/runs.js';

const args = {
  compare: compareArg,
  epsilon: dividing(numberArg(1e-6, { min: 0 }, 'Added to the standard deviation.')),
  stdThreshold: numberArg(
    undefined,
    { min: 0 },
    'Groups whose standard deviation is at most this, and groups of one, are dropped; unset: none are.',
  ),
  duplicateExperiences: booleanArg(
    false,
    'Replace dropped groups by copies of random kept ones; needs std_threshold.',
  ),
  ...rankArgs,
  stdCalLevel: choiceArg(
    stdCalLevels,
    'group',
    'Which standard deviation to divide by: that of the group, of the whole explore step, or none.',
  ),
};

type Options = ArgValues<typeof args>;

/**
 * Computes A_i = (R_i - mean(R)) / (std(R) + epsilon) over the rollouts of one task, where std is
 * the sample standard deviation. A_i is the advantage of all trained tokens of the rollout. Without
 * a rank penalty, equal rewards give A = 0. With `stdCalLevel` `group`, a single rollout has A = R
 * / (1 + epsilon). With `batch`, std is taken over the raw rewards of all rollouts of the batch,
 * even with a rank penalty. In the output, groups are in order of first appearance. `stdThreshold`
 * and `rankPenalty` are not allowed on train batches.
 *
 * Metrics: `group_advantages/{reward_mean,reward_std}/{mean,max,min}` (including dropped groups),
 * `group_advantages/zero_variance_ratio`; on explore steps also `group_advantages/uneven_runs` and
 * `filtered_count` (dropped experiences).
 */
export const grpo = defineAdvantagePart({
  args,
  doc: {
    summary: 'How much better a run did than the others of its task, in standard deviations.',
    formula:
      'A_i = (R_i - mean(R)) / (std(R) + epsilon), over the runs of one task; one run: A = R / (1 + epsilon)',
    source: grpoSource,
  },
  comparesRuns: true,
  create: (options, seed) => {
    checkDuplicates(options);
    const { batchAdvantage } = byGroup(byDeviation(options.epsilon, options.stdCalLevel), options);
    const selects = options.stdThreshold !== undefined || options.rankPenalty !== undefined;
    return {
      advantage: (experiences) => compare(experiences, options, seed),
      batchAdvantage: selects ? undefined : batchAdvantage,
    };
  },
});

/**
 * Computes the scores of the rollouts in each group. Does not use `byGroup`, which cannot drop or
 * duplicate groups.
 */
function compare(
  experiences: readonly Experience[],
  options: Options,
  seed: number,
): ReturnType<AdvantageFn> {
  if (experiences.length === 0) return { experiences, metrics: { filtered_count: 0 } };
  const tasks = byTask(experiences).map((task) => membersOf(task, options.compare));
  const groups = tasks.map((runs) => toRankedGroup(runs, options));
  const kept = groups.filter(({ stats }) => !isDropped(stats, options.stdThreshold));
  const ofBatch = batchStd(groups.flatMap(({ raw }) => raw));
  const scored = kept.map(({ runs, rewards, stats }) => {
    const divisor = stdOf(options.stdCalLevel, stats, ofBatch, options.epsilon);
    const scores = relativeScores(rewards, stats, divisor);
    return runs.flatMap((run, i) => run.map((call) => withScore(call, scores[i]!)));
  });
  const copies = options.duplicateExperiences
    ? duplicateGroups(scored, groups.length - kept.length, seed)
    : [];
  return {
    experiences: [...scored.flat(), ...copies],
    metrics: {
      ...groupMetrics(groups.map(({ raw, stats }) => ({ rewards: raw, stats }))),
      ...unevenMetrics(tasks.flat()),
      filtered_count: experiences.length - scored.flat().length,
    },
  };
}
