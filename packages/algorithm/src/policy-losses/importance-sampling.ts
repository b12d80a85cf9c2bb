/** Policy gradient corrected by the importance ratio, without clipping. */
import { definePolicyLoss } from '../parts/policy-loss-part.js';

/**
 * Computes l = -A r with r = e^clip(d, -20, 20), and dl/dx = -A r, or 0 where |d| > 20. The loss is
 * unbiased, but has the variance of the ratios. Metrics `pg_loss`, `ratio/mean`, `approx_kl` (mean
 * of -d).
 */
export const importanceSampling = definePolicyLoss({
  doc: {
    summary: 'Policy gradient with the importance ratio of each token.',
    formula: 'l = -A e^clip(d, -20, 20)',
  },
  lossMetric: 'pg_loss',
  tokenMeans: ['ratio/mean', 'approx_kl'],
  known: () => ({ name: 'importance_sampling' }),
  token: ({ advantage: A, ratio: r, ratioSlope, logRatio: d }, out) => {
    out.loss = -A * r;
    out.gradient = -A * ratioSlope;
    out.sums['ratio/mean'] += r;
    out.sums.approx_kl -= d;
  },
});
