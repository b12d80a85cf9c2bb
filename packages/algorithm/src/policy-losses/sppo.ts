/**
 * Policy gradient on the log-ratio, which is 0 for tokens whose ratio has left an interval around
 * 1.
 */
import { numberArg } from '@trinity-rft/core';
import { definePolicyLoss } from '../parts/policy-loss-part.js';

const args = {
  epsilon: numberArg(
    0.3,
    { min: 0 },
    'Tokens learn while their importance ratio is between 1 / (1 + epsilon) and 1 + epsilon.',
  ),
};

/**
 * Computes l = -A d, with dl/dx = -A, for tokens with 1 / (1 + epsilon) <= r <= 1 + epsilon. For
 * all other tokens, l and dl/dx are 0. Metrics `pg_loss`, `pg_clipfrac` (share of tokens out of
 * range).
 * @see arXiv:2108.05828, section 5
 */
export const sppo = definePolicyLoss({
  args,
  doc: {
    summary:
      'Simplified PPO: log-ratios instead of ratios, and no step beyond the trust range on either side.',
    formula: 'l = -A d [1 / (1 + epsilon) <= r <= 1 + epsilon]',
    source: {
      title:
        'A General Class of Surrogate Functions for Stable and Efficient Reinforcement Learning',
      url: 'https://arxiv.org/abs/2108.05828',
    },
  },
  lossMetric: 'pg_loss',
  tokenMeans: ['pg_clipfrac'],
  constants: ({ epsilon }) => ({ low: 1 / (1 + epsilon), high: 1 + epsilon }),
  token: ({ advantage: A, ratio: r, logRatio: d }, out, { low, high }) => {
    const isInside = r >= low && r <= high;
    out.loss = isInside ? -A * d : 0;
    out.gradient = isInside ? -A : 0;
    out.sums.pg_clipfrac += Number(!isInside);
  },
});
