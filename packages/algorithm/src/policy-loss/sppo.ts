/** Log-ratio policy gradient that stops where the policy has moved far enough. */
import { numberArg } from '@trinity-rft/core';
import { blockSize, meanOf, trainedTokens } from '../aggregate.js';
import { definePolicyLoss } from './define.js';
import { tokenRatios } from './rows.js';

const args = {
  epsilon: numberArg(0.3, { min: 0 }, 'Tokens learn while their importance ratio is between 1 / (1 + epsilon) and 1 + epsilon.'),
};

/**
 * l = -A d where 1 / (1 + epsilon) <= r <= 1 + epsilon, else 0; dl/dx = -A there. Metrics `pg_loss`, `pg_clipfrac` (share out
 * of range).
 * @see arXiv:2108.05828, section 5
 */
export const sppo = definePolicyLoss({
  args,
  doc: {
    summary: 'Simplified PPO: log-ratios instead of ratios, and no step beyond the trust range on either side.',
    formula: 'l = -A d [1 / (1 + epsilon) <= r <= 1 + epsilon]',
    source: {
      title: 'A General Class of Surrogate Functions for Stable and Efficient Reinforcement Learning',
      url: 'https://arxiv.org/abs/2108.05828',
    },
  },
  create: ({ epsilon }) => {
    const [low, high] = [1 / (1 + epsilon), 1 + epsilon];
    return (input, weights) => {
      const { actionMask, advantages, currentLogprobs, oldLogprobs } = input;
      const trained = trainedTokens(actionMask);
      const gradLogprobs = new Float32Array(weights.length);
      const ratios = new Float64Array(blockSize);
      let [loss, outside] = [0, 0];
      for (let from = 0; from < trained.length; from += blockSize) {
        const to = Math.min(from + blockSize, trained.length);
        tokenRatios(input, trained, from, to, ratios);
        for (let i = from; i < to; i++) {
          const t = trained[i]!;
          const d = currentLogprobs[t]! - oldLogprobs[t]!;
          const ratio = ratios[i - from]!;
          if (ratio < low || ratio > high) {
            outside++;
            continue;
          }
          const gradient = -weights[t]! * advantages[t]!;
          loss += gradient * d;
          gradLogprobs[t] = gradient;
        }
      }
      return { loss, gradLogprobs, metrics: { pg_loss: loss, pg_clipfrac: meanOf(outside, trained.length) } };
    };
  },
});
