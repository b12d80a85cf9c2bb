/** Supervised loss that weights each token by its probability. */
import { boundedExp } from '../parts/numbers.js';
import { definePolicyLoss } from '../parts/policy-loss-part.js';

/**
 * Computes l = -sg(e^x) x, with dl/dx = -e^x. Tokens with a low probability under the current
 * policy have little weight, which keeps the fine-tuned model close to the original. Metric
 * `sft_is_loss`.
 * @see arXiv:2508.05629, eq. 9
 */
export const sftIs = definePolicyLoss({
  needs: {},
  doc: {
    summary: 'Supervised loss in which each token weighs as much as its probability.',
    formula: 'l = -sg(e^x) x',
    source: {
      title:
        'On the Generalization of SFT: A Reinforcement Learning Perspective with Reward Rectification',
      url: 'https://arxiv.org/abs/2508.05629',
    },
  },
  lossMetric: 'sft_is_loss',
  token: ({ logprob: x }, out) => {
    const p = boundedExp(x);
    out.loss = -p * x;
    out.gradient = -p;
  },
});
