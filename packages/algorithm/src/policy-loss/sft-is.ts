/** Supervised loss weighted by how likely the policy finds each token already. */
import { blockSize, trainedTokens } from '../aggregate.js';
import { ratioOf, definePolicyLoss } from './define.js';

/**
 * l = -sg(e^x) x, dl/dx = -e^x. Tokens the policy would never say itself barely count, which keeps fine-tuning close to it.
 * Metric `sft_is_loss`.
 * @see arXiv:2508.05629, eq. 9
 */
export const sftIs = definePolicyLoss({
  args: {},
  needs: {},
  doc: {
    summary: 'Supervised loss in which each token weighs as much as its probability.',
    formula: 'l = -sg(e^x) x',
    source: {
      title: 'On the Generalization of SFT: A Reinforcement Learning Perspective with Reward Rectification',
      url: 'https://arxiv.org/abs/2508.05629',
    },
  },
  create:
    () =>
    ({ actionMask, currentLogprobs }, weights) => {
      const trained = trainedTokens(actionMask);
      const gradLogprobs = new Float32Array(weights.length);
      let loss = 0;
      for (let from = 0; from < trained.length; from += blockSize) {
        const to = Math.min(from + blockSize, trained.length);
        for (let i = from; i < to; i++) {
          const t = trained[i]!;
          const current = currentLogprobs[t]!;
          const gradient = -weights[t]! * ratioOf(current);
          loss += gradient * current;
          gradLogprobs[t] = gradient;
        }
      }
      return { loss, gradLogprobs, metrics: { sft_is_loss: loss } };
    },
});
