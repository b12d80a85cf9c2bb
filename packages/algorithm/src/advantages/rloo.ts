/** Leave-one-out: compares a rollout with the mean of the other rollouts of its task. */
import { byGroup, type ScoreGroup } from './shared/group-scores.js';
import { groupMean, returnOfRun } from './shared/groups.js';
import { compareArg } from './shared/runs.js';
import { defineAdvantagePart } from '../parts/advantage-part.js';

/**
 * Computes A_i = G_i - (mean of G_j over the other rollouts j) = (G_i - mean(G)) n / (n - 1), where
 * G_i is the sum of the token rewards of rollout i, over the n rollouts of one task. For a single
 * rollout, A = G. If all sums are equal, A = 0. Metrics:
 * `group_advantages/reward_mean/{mean,max,min}`,
 * `group_advantages/{zero_variance_ratio,uneven_runs}`.
 */
export const rloo = defineAdvantagePart({
  args: { compare: compareArg },
  doc: {
    summary:
      'How much better a run did than the mean of the others of its task: an unbiased baseline.',
    formula: 'A_i = R_i - mean over j != i of R_j = (R_i - mean(R)) n / (n - 1); one run: A = R',
    source: {
      title:
        'Back to Basics: Revisiting REINFORCE Style Optimization for Learning from Human Feedback in LLMs',
      url: 'https://arxiv.org/abs/2402.14740',
    },
  },
  comparesRuns: true,
  create: ({ compare }) => byGroup(leaveOneOut, { compare, read: returnOfRun }),
});

const leaveOneOut: ScoreGroup = ({ rewards }) => {
  const [size, average] = [rewards.length, groupMean(rewards)];
  const scores =
    size === 1 ? rewards : rewards.map((reward) => ((reward - average) * size) / (size - 1));
  return { scores, metrics: { reward_mean: average } };
};
