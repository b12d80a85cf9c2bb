/**
 * Group-relative advantage for rollouts of several steps: every step gets the score of its whole
 * rollout.
 */
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
  groupStats,
  grpoSource,
  isDropped,
  relativeScores,
  rewardOf,
  stdCalLevels,
  stdOf,
  unevenMetrics,
  withScore,
  type GroupStats,
} from './shared/groups.js';
import { byRun, byTask, inOrderOfSteps } from './shared/runs.js';

const args = {
  epsilon: dividing(numberArg(1e-6, { min: 0 }, 'Added to the standard deviation.')),
  enableStepNorm: booleanArg(
    false,
    'Divide the score by the number of experiences of the run, so that long runs weigh no more than short ones.',
  ),
  stdCalLevel: choiceArg(
    stdCalLevels,
    'group',
    'Which standard deviation to divide by: that of the task, of the whole explore step, or none.',
  ),
  stdThreshold: numberArg(
    undefined,
    { min: 0 },
    'Tasks whose standard deviation is at most this, and tasks with one run, are dropped; unset: none are.',
  ),
  runReward: choiceArg(
    ['last_step', 'last_listed'],
    'last_step',
    'Which reward counts as that of the run: that of its highest step, or, as in Trinity-RFT 0.5.2, of the experience that arrived last.',
  ),
};

type Options = ArgValues<typeof args>;

interface Group {
  /** Experiences of each rollout, by ascending step, or in order of arrival with `last_listed`. */
  readonly runs: readonly (readonly Experience[])[];
  /** Reward of the last experience of each rollout. */
  readonly rewards: readonly number[];
  readonly stats: GroupStats;
}

/**
 * Computes (r_k - mean(r)) / (std(r) + epsilon) over the rollouts k of one task. r_k is the reward
 * of the rollout's last step by `eid.step`, or with `runReward` `last_listed` of the experience
 * that arrived last. Every trained token of the rollout gets this score. With `enableStepNorm`, the
 * score is divided by the number of experiences of the rollout. With `stdCalLevel` `group`, the
 * score of a single rollout is r / (1 + epsilon).
 *
 * Metrics: `group_advantages/{reward_mean,reward_std}/{mean,max,min}` (including dropped tasks),
 * `group_advantages/{zero_variance_ratio,uneven_runs}`, `experience_count` (kept),
 * `filtered_count`, `skipped_group_ratio`.
 */
export const stepWiseGrpo = defineAdvantagePart({
  args,
  doc: {
    summary:
      'How much better a whole run of several steps did than the others of its task; every step of the run gets the same.',
    formula:
      'A_k = (r_k - mean(r)) / (std(r) + epsilon), r_k the reward of the last step of run k; with step norm: A_k / steps of the run',
    source: grpoSource,
  },
  comparesRuns: true,
  create: (options) => ({ advantage: (experiences) => compare(experiences, options) }),
});

function compare(experiences: readonly Experience[], options: Options): ReturnType<AdvantageFn> {
  if (experiences.length === 0) return { experiences, metrics: {} };
  const groups = byTask(experiences).map((members) => toGroup(members, options));
  const kept = groups.filter(({ stats }) => !isDropped(stats, options.stdThreshold));
  const all = batchStd(groups.flatMap(({ rewards }) => rewards));
  const scored = kept.flatMap(({ runs, rewards, stats }) => {
    const divisor = stdOf(options.stdCalLevel, stats, all, options.epsilon);
    const scores = relativeScores(rewards, stats, divisor);
    return runs.flatMap((run, k) => {
      const score = scores[k]!;
      return run.map((experience) =>
        withScore(experience, options.enableStepNorm ? score / run.length : score),
      );
    });
  });
  return {
    experiences: scored,
    metrics: {
      ...groupMetrics(groups),
      ...unevenMetrics(groups.flatMap(({ runs }) => runs)),
      experience_count: scored.length,
      filtered_count: experiences.length - scored.length,
      skipped_group_ratio: (groups.length - kept.length) / groups.length,
    },
  };
}

function toGroup(experiences: readonly Experience[], { runReward }: Options): Group {
  const listed = byRun(experiences);
  const runs = runReward === 'last_listed' ? listed : listed.map(inOrderOfSteps);
  const rewards = runs.map((run) => rewardOf(run.at(-1)!));
  return { runs, rewards, stats: groupStats(rewards) };
}
