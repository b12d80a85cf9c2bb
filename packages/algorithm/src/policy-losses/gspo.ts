/** Clipped policy gradient with one importance ratio per answer. */
import { numberArg } from '@trinity-rft/core';
import { tokenTerm } from '../parts/token-term.js';
import { clamp, definePolicyLoss } from '../parts/policy-loss-part.js';
import { rowLogRatios } from './rows.js';

const args = {
  clipRangeLow: numberArg(
    3e-4,
    { min: 0 },
    'Rows whose ratio is below 1 - this are not pushed further down.',
  ),
  clipRangeHigh: numberArg(
    4e-4,
    { min: 0 },
    'Rows whose ratio is above 1 + this are not pushed further up.',
  ),
};

/**
 * L = mean of d over the trained tokens of the row, s = e^L: l = max(-A s, -A clip(s, 1 - low, 1 +
 * high)). Differentiated is s_t = e^(x - sg(x) + sg(L)), whose value is s: dl/dx = -A s where the
 * first branch is active, else 0. The paper aggregates with `seq-mean-token-mean`.
 *
 * Metrics `pg_loss`, `pg_clipfrac`, `ppo_kl` (mean of -d), `ppo_kl_seq` (mean of -L over rows).
 * @see GSPO, arXiv:2507.18071, eq. 13 to 17 (GSPO-token)
 */
export const gspo = definePolicyLoss({
  args,
  doc: {
    summary:
      'Group sequence policy optimisation: clips whole answers by the geometric mean of their ratios.',
    formula:
      's = e^(mean of d over the row); l = max(-A s, -A clip(s, 1 - clip_range_low, 1 + clip_range_high))',
    source: {
      title: 'Group Sequence Policy Optimization',
      url: 'https://arxiv.org/abs/2507.18071',
    },
  },
  create: ({ clipRangeLow, clipRangeHigh }) =>
    tokenTerm({
      open: (input) => {
        const logRatios = rowLogRatios(input, 'mean');
        return { logRatios, ratios: logRatios.map(Math.exp), clipped: 0, kl: 0 };
      },
      visit: ({ size, row, d, advantage, value, gradient }, state) => {
        const { ratios } = state;
        let [clipped, kl] = [0, 0];
        for (let i = 0; i < size; i++) {
          const A = advantage[i]!;
          const ratio = ratios[row[i]!]!;
          const bounded = clamp(ratio, 1 - clipRangeLow, 1 + clipRangeHigh);
          const isClipped = -A * bounded > -A * ratio;
          value[i] = -A * (isClipped ? bounded : ratio);
          gradient[i] = isClipped ? 0 : -A * ratio;
          if (isClipped) clipped++;
          kl -= d[i]!;
        }
        state.clipped += clipped;
        state.kl += kl;
      },
      metrics: (loss, mean, { logRatios, clipped, kl }) => ({
        pg_loss: loss,
        pg_clipfrac: mean(clipped),
        ppo_kl: mean(kl),
        ppo_kl_seq:
          logRatios.reduce((sum, ratio) => sum - ratio, 0) / Math.max(logRatios.length, 1),
      }),
    }),
});
