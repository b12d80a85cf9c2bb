/** Supervised loss: the negative log-likelihood of the response. */
import { tokenTerm, type TokenTerm } from '../parts/token-term.js';
import { definePolicyLoss } from '../parts/policy-loss-part.js';

/**
 * l = -x, dl/dx = -1. Reads neither advantages nor sampling log-probabilities. Metric `sft_loss`.
 */
export const sft = definePolicyLoss({
  args: {},
  needs: {},
  doc: { summary: 'Negative log-likelihood of demonstrated answers.', formula: 'l = -x' },
  create: negativeLogLikelihood,
});

/** sft, and the supervised loss of `mix`. */
export function negativeLogLikelihood(): TokenTerm {
  return tokenTerm({
    open: () => undefined,
    visit: ({ size, current, value, gradient }) => {
      for (let i = 0; i < size; i++) {
        value[i] = -current[i]!;
        gradient[i] = -1;
      }
    },
    metrics: (loss) => ({ sft_loss: loss }),
  });
}
