/** The group-relative advantage on train batches, where rewards may have been penalised. */
import { numberArg } from '@trinity-rft/core';
import { byGroup, type ScoreGroup } from './shared/group-scores.js';
import { batchStd, groupStats, returnOf, stdOf, type StdCalLevel } from './shared/groups.js';
import { defineAdvantagePart } from '../parts/advantage-part.js';

const args = { epsilon: numberArg(1e-6, { min: 0 }, 'Added to the standard deviation.') };

/**
 * (G_i - mean(G)) / (std(G) + epsilon) over the runs of one task, G the sum of token rewards. A
 * group of one gets its reward / (1 + epsilon), equal rewards get 0. Metrics:
 * `group_advantages/{reward_mean,reward_std}/{mean,max,min}`,
 * `group_advantages/zero_variance_ratio`.
 */
export const grpoVerl = defineAdvantagePart({
  args,
  doc: {
    summary:
      'grpo without its options, over the sums of token rewards; also runs on train batches, after a KL penalty.',
    formula: 'A_i = (G_i - mean(G)) / (std(G) + epsilon), G_i the sum of token rewards',
    source: {
      title:
        'DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models, section 4.1',
      url: 'https://arxiv.org/abs/2402.03300',
    },
  },
  comparesRuns: true,
  create: ({ epsilon }) => byGroup(byDeviation(epsilon), returnOf),
});

/** (R_i - mean(R)) / (std(R) + epsilon), the deviation that of `level`. */
export function byDeviation(epsilon: number, level: StdCalLevel = 'group'): ScoreGroup {
  return ({ rewards }, all) => {
    const stats = groupStats(rewards);
    const divisor = stdOf(level, stats, level === 'batch' ? batchStd(all) : 1, epsilon);
    return {
      scores: rewards.map((reward) => (reward - stats.mean) / divisor),
      metrics: { reward_mean: stats.mean, reward_std: stats.std },
    };
  };
}
