/** Off-policy policy gradient that tapers the importance of bad answers only. */
import { booleanArg, numberArg } from '@trinity-rft/core';
import { tokenTerm } from '../parts/token-term.js';
import { definePolicyLoss } from '../parts/policy-loss-part.js';
import { importanceRatios, rowRatios } from './rows.js';

const args = {
  advantageThreshold: numberArg(
    0,
    {},
    'Tokens whose advantage is at most this are weighed by their importance ratio, at most 1.',
  ),
  sequenceRatio: booleanArg(
    false,
    'Take the ratio of the whole answer, as the paper does, instead of that of each token.',
  ),
};

/**
 * alpha = clip(r, 0, 1) where A <= `advantageThreshold`, else 1: l = -sg(alpha) A x, dl/dx = -alpha
 * A. What the policy says more often than it did is not unlearned faster; good answers are imitated
 * wherever they come from. With `sequenceRatio` the ratio is e^sum(d) of the row. Metrics
 * `topr_loss`, `avg_alpha`, `avg_ratio`.
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
  create: ({ advantageThreshold, sequenceRatio }) =>
    tokenTerm({
      open: (input) => ({
        ofRows: sequenceRatio ? rowRatios(input, 'sum') : undefined,
        alphas: 0,
        ratios: 0,
      }),
      visit: (block, state) => {
        const { size, current, advantage, value, gradient } = block;
        const ratio = importanceRatios(block, state.ofRows);
        let [alphas, ratios] = [0, 0];
        for (let i = 0; i < size; i++) {
          // Numbers, not branches, which a processor guesses wrong for every second token.
          const tapers = Number(advantage[i]! <= advantageThreshold) * Number(ratio[i]! < 1);
          const alpha = tapers * ratio[i]! + (1 - tapers);
          gradient[i] = -alpha * advantage[i]!;
          value[i] = gradient[i]! * current[i]!;
          alphas += alpha;
          ratios += ratio[i]!;
        }
        state.alphas += alphas;
        state.ratios += ratios;
      },
      metrics: (loss, mean, { alphas, ratios }) => ({
        topr_loss: loss,
        avg_alpha: mean(alphas),
        avg_ratio: mean(ratios),
      }),
    }),
});
