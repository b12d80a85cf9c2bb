/** Supervised loss: the negative log-likelihood of the response. */
import { definePolicyLoss } from '../parts/policy-loss-part.js';

/**
 * Computes l = -x, with dl/dx = -1. Reads neither advantages nor sampling log-probabilities. Metric
 * `sft_loss`.
 */
export const sft = definePolicyLoss({
  needs: {},
  doc: { summary: 'Negative log-likelihood of demonstrated answers.', formula: 'l = -x' },
  lossMetric: 'sft_loss',
  known: () => ({ name: 'linear', advantage: () => 1 }),
  token: ({ logprob: x }, out) => {
    out.loss = -x;
    out.gradient = -1;
  },
});
