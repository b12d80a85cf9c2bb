/**
 * Group-relative advantage computed from token rewards, from which a KL penalty may have been
 * subtracted.
 */
import { numberArg } from '@trinity-rft/core';
import { byDeviation, byGroup } from './shared/group-scores.js';
import { grpoSource, returnOfRun } from './shared/groups.js';
import { compareArg } from './shared/runs.js';
import { defineAdvantagePart } from '../parts/advantage-part.js';

const args = {
  compare: compareArg,
  epsilon: numberArg(1e-6, { min: 0 }, 'Added to the standard deviation.'),
};

/**
 * Computes A_i = (G_i - mean(G)) / (std(G) + epsilon) over the rollouts of one task, where G is the
 * sum of a rollout's token rewards. For a single rollout, A = G / (1 + epsilon). If all sums are
 * equal, A = 0. Metrics: `group_advantages/{reward_mean,reward_std}/{mean,max,min}`,
 * `group_advantages/{zero_variance_ratio,uneven_runs}`.
 */
export const grpoVerl = defineAdvantagePart({
  args,
  doc: {
    summary:
      'grpo without its options, over the sums of token rewards; also runs on train batches, after a KL penalty.',
    formula: 'A_i = (G_i - mean(G)) / (std(G) + epsilon), G_i the sum of token rewards',
    source: grpoSource,
  },
  comparesRuns: true,
  create: ({ epsilon, compare }) => byGroup(byDeviation(epsilon), { compare, read: returnOfRun }),
});
