/** Policy gradient scaled down by the temperature of a mirror-descent step. */
import { numberArg } from '@trinity-rft/core';
import { blockSize, trainedTokens } from '../aggregate.js';
import { definePolicyLoss } from './define.js';

const args = { tau: numberArg(1, { min: 0 }, 'Temperature of the step: the loss is divided by 1 + tau.') };

/**
 * loss = agg(-A x) / (1 + tau), dl/dx = -A / (1 + tau). No importance ratio: meant for rollouts of any policy, with advantages
 * of `opmd`. Metric `opmd_loss`.
 * @see Trinity-RFT, arXiv:2505.17826, appendix A; Kimi k1.5, arXiv:2501.12599, section 2.3
 */
export const opmd = definePolicyLoss({
  args,
  doc: {
    summary: 'Online policy mirror descent: policy gradient without importance ratios.',
    formula: 'l = -A x / (1 + tau)',
    source: {
      title: 'Trinity-RFT: A General-Purpose and Unified Framework for Reinforcement Fine-Tuning of Large Language Models',
      url: 'https://arxiv.org/abs/2505.17826',
    },
  },
  create:
    ({ tau }) =>
    ({ actionMask, advantages, currentLogprobs }, weights) => {
      const trained = trainedTokens(actionMask);
      const gradLogprobs = new Float32Array(weights.length);
      let loss = 0;
      for (let from = 0; from < trained.length; from += blockSize) {
        const to = Math.min(from + blockSize, trained.length);
        for (let i = from; i < to; i++) {
          const t = trained[i]!;
          const gradient = (-weights[t]! * advantages[t]!) / (1 + tau);
          loss += gradient * currentLogprobs[t]!;
          gradLogprobs[t] = gradient;
        }
      }
      return { loss, gradLogprobs, metrics: { opmd_loss: loss } };
    },
});
