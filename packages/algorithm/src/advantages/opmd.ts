/**
 * Advantage of online policy mirror descent: the reward minus a baseline computed from the group.
 * The difference is not divided by a standard deviation.
 */
import { choiceArg, mean, numberArg, onlyWith, type Experience } from '@trinity-rft/core';
import type { PartDoc } from '../parts/part.js';
import { byGroup, type ScoreGroup } from './shared/group-scores.js';
import { groupMean, returnOfRun } from './shared/groups.js';
import { compareArg } from './shared/runs.js';
import { defineAdvantagePart, type AdvantagePart } from '../parts/advantage-part.js';

const args = {
  compare: compareArg,
  opmdBaseline: choiceArg(
    ['mean', 'logavgexp'],
    'mean',
    'What a reward is compared with: the mean of its group, or the soft maximum that tau tempers.',
  ),
  tau: onlyWith(
    'opmd_baseline: logavgexp',
    ({ opmdBaseline }) => opmdBaseline === 'logavgexp',
    numberArg(
      1,
      { above: 0 },
      'Temperature of logavgexp: small values compare with the best run, large ones with the mean.',
    ),
  ),
};

const doc: PartDoc = {
  summary: 'How far the reward of a run lies above a baseline of its task.',
  formula: 'A_i = R_i - b, b = mean(R), or tau * log(mean(e^(R / tau))); one run: b = 0',
  source: {
    title:
      'Group-Relative REINFORCE Is Secretly an Off-Policy Algorithm: Demystifying Some Myths About GRPO and Its Friends',
    url: 'https://arxiv.org/abs/2509.24203',
  },
};

/**
 * Computes A_i = R_i - b over the rollouts of one task, with baseline b. For a single rollout, A =
 * R. If all rewards are equal, A = 0. Metrics:
 * `group_advantages/{group_baseline,reward_mean}/{mean,max,min}`,
 * `group_advantages/{zero_variance_ratio,uneven_runs}`.
 */
export const opmd = opmdOf(doc);

/** Like {@link opmd}, but the reward of a rollout is the sum of its token rewards. */
export const opmdVerl = opmdOf(
  { ...doc, summary: 'Older name of opmd; reads the sum of token rewards.' },
  returnOfRun,
);

function opmdOf(about: PartDoc, read?: (run: readonly Experience[]) => number): AdvantagePart {
  return defineAdvantagePart({
    args,
    doc: about,
    comparesRuns: true,
    create: ({ compare, opmdBaseline, tau }) => {
      const baselineOf = (rewards: readonly number[]): number =>
        opmdBaseline === 'mean' ? groupMean(rewards) : softMaximum(rewards, tau);
      const score: ScoreGroup = ({ rewards }) => {
        const baseline = rewards.length === 1 ? 0 : baselineOf(rewards);
        return {
          scores: rewards.map((reward) => reward - baseline),
          metrics: { group_baseline: baseline, reward_mean: groupMean(rewards) },
        };
      };
      return byGroup(score, { compare, read });
    },
  });
}

/**
 * Returns tau * log(mean(e^(R / tau))), computed relative to the largest reward so that nothing
 * overflows.
 */
function softMaximum(rewards: readonly number[], tau: number): number {
  const top = Math.max(...rewards);
  return top + tau * Math.log(mean(rewards.map((reward) => Math.exp((reward - top) / tau))));
}
