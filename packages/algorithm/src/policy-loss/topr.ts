/** Off-policy policy gradient that tapers the importance of bad answers only. */
import { booleanArg, numberArg } from '@trinity-rft/core';
import { blockSize, meanOf, trainedTokens } from '../aggregate.js';
import { definePolicyLoss } from './define.js';
import { importanceRatios } from './rows.js';

const args = {
  advantageThreshold: numberArg(0, {}, 'Tokens whose advantage is at most this are weighed by their importance ratio, at most 1.'),
  sequenceRatio: booleanArg(false, 'Take the ratio of the whole answer, as the paper does, instead of that of each token.'),
};

/**
 * alpha = clip(r, 0, 1) where A <= `advantageThreshold`, else 1: l = -sg(alpha) A x, dl/dx = -alpha A. What the policy says
 * more often than it did is not unlearned faster; good answers are imitated wherever they come from. With `sequenceRatio` the
 * ratio is e^sum(d) of the row. Metrics `topr_loss`, `avg_alpha`, `avg_ratio`.
 * @see TOPR, arXiv:2503.14286, eq. 6 (canonical parameters)
 */
export const topr = definePolicyLoss({
  args,
  doc: {
    summary: 'Tapered off-policy REINFORCE: importance weights, at most 1, for bad answers; none for good ones.',
    formula: 'alpha = clip(r, 0, 1) where A <= advantage_threshold, else 1; l = -sg(alpha) A x',
    source: {
      title: 'Tapered Off-Policy REINFORCE: Stable and efficient reinforcement learning for LLMs',
      url: 'https://arxiv.org/abs/2503.14286',
    },
  },
  create:
    ({ advantageThreshold, sequenceRatio }) =>
    (input, weights) => {
      const { actionMask, advantages, currentLogprobs } = input;
      const trained = trainedTokens(actionMask);
      const ratios = importanceRatios(input, trained, sequenceRatio ? 'sum' : 'token');
      const gradLogprobs = new Float32Array(weights.length);
      let [loss, alphas, ratioSum] = [0, 0, 0];
      for (let from = 0; from < trained.length; from += blockSize) {
        const to = Math.min(from + blockSize, trained.length);
        for (let i = from; i < to; i++) {
          const t = trained[i]!;
          const current = currentLogprobs[t]!;
          const advantage = advantages[t]!;
          const ratio = ratios[i]!;
          const alpha = advantage <= advantageThreshold ? Math.min(ratio, 1) : 1;
          const gradient = -weights[t]! * alpha * advantage;
          loss += gradient * current;
          gradLogprobs[t] = gradient;
          alphas += alpha;
          ratioSum += ratio;
        }
      }
      return {
        loss,
        gradLogprobs,
        metrics: { topr_loss: loss, avg_alpha: meanOf(alphas, trained.length), avg_ratio: meanOf(ratioSum, trained.length) },
      };
    },
});
