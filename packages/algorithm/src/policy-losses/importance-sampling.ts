/** Policy gradient corrected by the importance ratio, without any clip. */
import { tokenTerm } from '../parts/token-term.js';
import { definePolicyLoss, ratiosOf } from '../parts/policy-loss-part.js';

/**
 * r = e^clip(d, -20, 20): l = -A r, dl/dx = -A r, and 0 where |d| > 20. Unbiased, with the variance
 * of the ratios. Metrics `pg_loss`, `ratio/mean`, `approx_kl` (mean of -d).
 */
export const importanceSampling = definePolicyLoss({
  args: {},
  doc: {
    summary: 'Policy gradient with the importance ratio of each token.',
    formula: 'l = -A e^clip(d, -20, 20)',
  },
  create: () =>
    tokenTerm({
      open: () => ({ ratios: 0, kl: 0 }),
      visit: (block, state) => {
        const { size, d, advantage, value, gradient } = block;
        const ratio = ratiosOf(block);
        let [ratios, kl] = [0, 0];
        for (let i = 0; i < size; i++) {
          value[i] = -advantage[i]! * ratio[i]!;
          gradient[i] = Math.abs(d[i]!) <= 20 ? value[i]! : 0;
          ratios += ratio[i]!;
          kl -= d[i]!;
        }
        state.ratios += ratios;
        state.kl += kl;
      },
      metrics: (loss, mean, { ratios, kl }) => ({
        pg_loss: loss,
        'ratio/mean': mean(ratios),
        approx_kl: mean(kl),
      }),
    }),
});
