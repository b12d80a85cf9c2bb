/** Supervised loss weighted by how likely the policy finds each token already. */
import { tokenTerm } from '../parts/token-term.js';
import { boundedExp, definePolicyLoss } from '../parts/policy-loss-part.js';

/**
 * l = -sg(e^x) x, dl/dx = -e^x. Tokens the policy would never say itself barely count, which keeps
 * fine-tuning close to it. Metric `sft_is_loss`.
 * @see arXiv:2508.05629, eq. 9
 */
export const sftIs = definePolicyLoss({
  args: {},
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
  create: () =>
    tokenTerm({
      open: () => undefined,
      visit: (block) => {
        const { size, current, value, gradient } = block;
        const probability = boundedExp(current, block);
        for (let i = 0; i < size; i++) {
          gradient[i] = -probability[i]!;
          value[i] = gradient[i]! * current[i]!;
        }
      },
      metrics: (loss) => ({ sft_is_loss: loss }),
    }),
});
