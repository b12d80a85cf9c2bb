/** Policy gradient scaled down by the temperature of a mirror-descent step. */
import { numberArg } from '@trinity-rft/core';
import { definePolicyLoss } from '../parts/policy-loss-part.js';

const args = {
  tau: numberArg(1, { min: 0 }, 'Temperature of the step: the loss is divided by 1 + tau.'),
};

/**
 * Computes loss = agg(-A x) / (1 + tau), with dl/dx = -A / (1 + tau). The loss has no importance
 * ratio. It is meant for rollouts of any policy, with the advantages of `opmd`. Metric `opmd_loss`.
 * @see Trinity-RFT, arXiv:2505.17826, appendix A; Kimi k1.5, arXiv:2501.12599, section 2.3
 */
export const opmd = definePolicyLoss({
  args,
  doc: {
    summary: 'Online policy mirror descent: policy gradient without importance ratios.',
    formula: 'l = -A x / (1 + tau)',
    source: {
      title:
        'Trinity-RFT: A General-Purpose and Unified Framework for Reinforcement Fine-Tuning of Large Language Models',
      url: 'https://arxiv.org/abs/2505.17826',
    },
  },
  ratios: () => false,
  lossMetric: 'opmd_loss',
  known: ({ tau }) => ({ name: 'linear', advantage: (A) => A / (1 + tau) }),
  token: ({ logprob: x, advantage: A }, out, { tau }) => {
    out.loss = (-A * x) / (1 + tau);
    out.gradient = -A / (1 + tau);
  },
});
