/** Policy gradient corrected by the importance ratio, without any clip. */
import { blockSize, meanOf, trainedTokens } from '../aggregate.js';
import { boundLogRatio, definePolicyLoss, ratioOf } from './define.js';

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
      const trained = trainedTokens(actionMask);
      const gradLogprobs = new Float32Array(weights.length);
      let [loss, ratios, kl] = [0, 0, 0];
      for (let from = 0; from < trained.length; from += blockSize) {
        const to = Math.min(from + blockSize, trained.length);
        for (let i = from; i < to; i++) {
          const t = trained[i]!;
          const d = currentLogprobs[t]! - oldLogprobs[t]!;
          const ratio = ratioOf(d);
          const value = -weights[t]! * advantages[t]! * ratio;
          if (boundLogRatio(d) === d) gradLogprobs[t] = value;
          loss += value;
          ratios += ratio;
          kl -= d;
        }
      }
      return {
        loss,
        gradLogprobs,
        metrics: { pg_loss: loss, 'ratio/mean': meanOf(ratios, trained.length), approx_kl: meanOf(kl, trained.length) },
      };
    },
});
