import { byGroup } from './shared/group-scores.js';
import { groupMean } from './shared/groups.js';
import { defineAdvantagePart } from '../parts/advantage-part.js';

/**
 * Sets A_i = R_i on every trained token. Metrics: `group_advantages/reward_mean/{mean,max,min}`,
 * `group_advantages/zero_variance_ratio`.
 */
export const reinforce = defineAdvantagePart({
  args: {},
  doc: {
    summary: 'The reward of the run, without a baseline.',
    formula: 'A_i = R_i',
    source: {
      title:
        'Simple statistical gradient-following algorithms for connectionist reinforcement learning',
      url: 'https://doi.org/10.1007/BF00992696',
    },
  },
  comparesRuns: false,
  create: () =>
    byGroup(({ rewards }) => ({ scores: rewards, metrics: { reward_mean: groupMean(rewards) } }), {
      compare: 'calls',
    }),
});
