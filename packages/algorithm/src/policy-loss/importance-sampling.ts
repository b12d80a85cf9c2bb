/** Policy gradient corrected by the importance ratio, without any clip. */
import { meanOverTrained } from '../aggregate.js';
import { definePolicyLoss, largestLogRatio, ratioOf } from './define.js';

/**
 * r = e^clip(d, -20, 20): l = -A r, dl/dx = -A r, and 0 where |d| > 20. Unbiased, with the variance of the ratios.
 * Metrics `pg_loss`, `ratio/mean`, `approx_kl` (mean of -d).
 */
export const importanceSampling = definePolicyLoss({
  args: {},
  doc: { summary: 'Policy gradient with the importance ratio of each token.', formula: 'l = -A e^clip(d, -20, 20)' },
  create:
    () =>
    ({ actionMask, advantages, currentLogprobs, oldLogprobs }, weights) => {
      const gradLogprobs = new Float64Array(weights.length);
      let [loss, ratios, kl] = [0, 0, 0];
      for (let t = 0; t < weights.length; t++) {
        if (actionMask[t] === 0) continue;
        const d = currentLogprobs[t]! - oldLogprobs[t]!;
        const ratio = ratioOf(d);
        const value = -weights[t]! * advantages[t]! * ratio;
        if (Math.abs(d) <= largestLogRatio) gradLogprobs[t] = value;
        loss += value;
        ratios += ratio;
        kl -= d;
      }
      return {
        loss,
        gradLogprobs,
        metrics: { pg_loss: loss, 'ratio/mean': meanOverTrained(ratios, actionMask), approx_kl: meanOverTrained(kl, actionMask) },
      };
    },
});
