/** Log-ratio policy gradient that stops where the policy has moved far enough. */
import { numberArg } from '@trinity-rft/core';
import { tokenTerm } from '../parts/token-term.js';
import { definePolicyLoss, ratiosOf } from '../parts/policy-loss-part.js';

const args = {
  epsilon: numberArg(
    0.3,
    { min: 0 },
    'Tokens learn while their importance ratio is between 1 / (1 + epsilon) and 1 + epsilon.',
  ),
};

/**
 * l = -A d where 1 / (1 + epsilon) <= r <= 1 + epsilon, else 0; dl/dx = -A there. Metrics
 * `pg_loss`, `pg_clipfrac` (share out of range).
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
  create: ({ epsilon }) => {
    const [low, high] = [1 / (1 + epsilon), 1 + epsilon];
    return tokenTerm({
      open: () => ({ outside: 0 }),
      visit: (block, state) => {
        const { size, d, advantage, value, gradient } = block;
        const ratio = ratiosOf(block);
        let outside = 0;
        for (let i = 0; i < size; i++) {
          const isOutside = ratio[i]! < low || ratio[i]! > high;
          gradient[i] = isOutside ? 0 : -advantage[i]!;
          value[i] = gradient[i]! * d[i]!;
          if (isOutside) outside++;
        }
        state.outside += outside;
      },
      metrics: (loss, mean, { outside }) => ({ pg_loss: loss, pg_clipfrac: mean(outside) }),
    });
  },
});
