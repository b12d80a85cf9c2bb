/** Advantage function whose baseline is the mean reward of the group plus a constant shift. */
import { booleanArg, numberArg, type Experience } from '@trinity-rft/core';
import type { PartDoc } from '../parts/part.js';
import { byGroup, type ScoreGroup } from './shared/group-scores.js';
import { groupMean, returnOfRun } from './shared/groups.js';
import { compareArg } from './shared/runs.js';
import { defineAdvantagePart, type AdvantagePart } from '../parts/advantage-part.js';

const args = {
  compare: compareArg,
  baselineShift: numberArg(
    -0.1,
    {},
    'Added to the mean reward of the group; below 0 lets good runs weigh more than bad ones, which stabilises off-policy training.',
  ),
  rewardMeanFromBaseline: booleanArg(
    false,
    'As Trinity-RFT 0.5.2: report reward_mean as baseline - shift, which for groups of one is -shift.',
  ),
};

const doc: PartDoc = {
  summary: 'How far the reward of a run lies above the shifted mean of its task.',
  formula: 'A_i = R_i - (mean(R) + shift); one run: A = R',
  source: {
    title:
      'Asymmetric REINFORCE for off-Policy Reinforcement Learning: Balancing positive and negative rewards',
    url: 'https://arxiv.org/abs/2506.20520',
  },
};

/**
 * Computes A_i = R_i - (mean(R) + shift) over the rollouts of one task. For a single rollout, A =
 * R. If all rewards are equal, A = -shift. Metrics:
 * `group_advantages/{group_baseline,reward_mean}/{mean,max,min}`,
 * `group_advantages/{zero_variance_ratio,uneven_runs}`.
 */
export const asymre = asymreOf(doc);

/** Like {@link asymre}, but the reward of a rollout is the sum of its token rewards. */
export const asymreVerl = asymreOf(
  { ...doc, summary: 'Older name of asymre; reads the sum of token rewards.' },
  returnOfRun,
);

function asymreOf(about: PartDoc, read?: (run: readonly Experience[]) => number): AdvantagePart {
  return defineAdvantagePart({
    args,
    doc: about,
    comparesRuns: true,
    create: ({ compare, baselineShift, rewardMeanFromBaseline }) => {
      const score: ScoreGroup = ({ rewards }) => {
        const baseline = rewards.length === 1 ? 0 : groupMean(rewards) + baselineShift;
        return {
          scores: rewards.map((reward) => reward - baseline),
          metrics: {
            group_baseline: baseline,
            reward_mean: rewardMeanFromBaseline ? baseline - baselineShift : groupMean(rewards),
          },
        };
      };
      return byGroup(score, { compare, read });
    },
  });
}
