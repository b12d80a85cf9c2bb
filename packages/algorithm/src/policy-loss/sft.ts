/** Supervised loss: the negative log-likelihood of the response. */
import { aggregateLoss } from '../aggregate.js';
import { definePolicyLoss } from './define.js';

/** l = -x, dl/dx = -1. Reads neither advantages nor sampling log-probabilities. Metric `sft_loss`. */
export const sft = definePolicyLoss({
  args: {},
  needs: {},
  doc: { summary: 'Negative log-likelihood of demonstrated answers.', formula: 'l = -x' },
  create: () => (input, weights) => {
    const loss = -aggregateLoss(input.currentLogprobs, weights);
    const gradLogprobs = new Float32Array(weights.length);
    for (let t = 0; t < weights.length; t++) gradLogprobs[t] = -weights[t]!;
    return { loss, gradLogprobs, metrics: { sft_loss: loss } };
  },
});
