/** Supervised loss: the negative log-likelihood of the response. */
import { aggregateLoss } from '../aggregate.js';
import { definePart, type TermWithNeeds } from '../part.js';

/** l = -x, dl/dx = -1. Reads neither advantages nor sampling log-probabilities. Metric `sft_loss`. */
export const sft = definePart({}, (): TermWithNeeds => ({
  term: ({ currentLogprobs }, weights) => {
    const loss = -aggregateLoss(currentLogprobs, weights);
    return { loss, gradLogprobs: weights.map((weight) => -weight), metrics: { sft_loss: loss } };
  },
  needs: {},
}));
