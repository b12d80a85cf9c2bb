/**
 * Off-policy policy gradient that caps importance ratios at 1 for responses with a low advantage.
 */
import { booleanArg, numberArg } from '@trinity-rft/core';
import { definePolicyLoss } from '../parts/policy-loss-part.js';

const args = {
  advantageThreshold: numberArg(
    0,
    {},
    'Tokens whose advantage is at most this are weighed by their importance ratio, at most 1.',
  ),
  sequenceRatio: booleanArg(
    false,
    'Take the ratio of the whole sequence, as the paper does, instead of that of each token.',
  ),
};

/**
 * Computes l = -sg(alpha) A x, with dl/dx = -alpha A. alpha is clip(r, 0, 1) where A <=
 * `advantageThreshold`, else 1. The cap keeps bad responses that became more likely from being
 * unlearned faster. Good responses are imitated with full weight, whichever policy sampled them.
 * With `sequenceRatio`, the ratio is e^sum(d) of the row. Metrics `topr_loss`, `avg_alpha`,
 * `avg_ratio`.
 * @see TOPR, arXiv:2503.14286, eq. 6 (canonical parameters)
 */
export const topr = definePolicyLoss({
  args,
  doc: {
    summary:
      'Tapered off-policy REINFORCE: importance weights, at most 1, for bad answers; none for good ones.',
    formula: 'alpha = clip(r, 0, 1) where A <= advantage_threshold, else 1; l = -sg(alpha) A x',
    source: {
      title: 'Tapered Off-Policy REINFORCE: Stable and efficient reinforcement learning for LLMs',
      url: 'https://arxiv.org/abs/2503.14286',
    },
  },
  lossMetric: 'topr_loss',
  tokenMeans: ['avg_alpha', 'avg_ratio'],
  token: (token, out, { advantageThreshold, sequenceRatio }) => {
    const { logprob: x, advantage: A } = token;
    const r = sequenceRatio ? token.row.sequenceRatio : token.ratio;
    const alpha = A <= advantageThreshold ? Math.min(r, 1) : 1;
    out.loss = -alpha * A * x;
    out.gradient = -alpha * A;
    out.sums.avg_alpha += alpha;
    out.sums.avg_ratio += r;
  },
});
