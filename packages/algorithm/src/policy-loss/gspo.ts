/** Clipped policy gradient with one importance ratio per answer. */
import { numberArg } from '@trinity-rft/core';
import { meanOf, trainedTokens } from '../aggregate.js';
import { clamp, definePolicyLoss } from './define.js';
import { rowLogRatios } from './rows.js';

const args = {
  clipRangeLow: numberArg(3e-4, { min: 0 }, 'Rows whose ratio is below 1 - this are not pushed further down.'),
  clipRangeHigh: numberArg(4e-4, { min: 0 }, 'Rows whose ratio is above 1 + this are not pushed further up.'),
};

/**
 * L = mean of d over the trained tokens of the row, s = e^L: l = max(-A s, -A clip(s, 1 - low, 1 + high)). Differentiated is
 * s_t = e^(x - sg(x) + sg(L)), whose value is s: dl/dx = -A s where the first branch is active, else 0. The paper aggregates
 * with `seq-mean-token-mean`.
 *
 * Metrics `pg_loss`, `pg_clipfrac`, `ppo_kl` (mean of -d), `ppo_kl_seq` (mean of -L over rows).
 * @see GSPO, arXiv:2507.18071, eq. 13 to 17 (GSPO-token)
 */
export const gspo = definePolicyLoss({
  args,
  doc: {
    summary: 'Group sequence policy optimisation: clips whole answers by the geometric mean of their ratios.',
    formula: 's = e^(mean of d over the row); l = max(-A s, -A clip(s, 1 - clip_range_low, 1 + clip_range_high))',
    source: { title: 'Group Sequence Policy Optimization', url: 'https://arxiv.org/abs/2507.18071' },
  },
  create:
    ({ clipRangeLow, clipRangeHigh }) =>
    (input, weights) => {
      const { offsets, actionMask, advantages, currentLogprobs, oldLogprobs } = input;
      const rows = rowLogRatios(input, 'mean');
      const trained = trainedTokens(actionMask);
      const gradLogprobs = new Float32Array(weights.length);
      let [loss, kl, klOfRows, clipped] = [0, 0, 0, 0];
      for (let row = 0, i = 0; row < rows.length; row++) {
        const ratio = Math.exp(rows[row]!);
        const bounded = clamp(ratio, 1 - clipRangeLow, 1 + clipRangeHigh);
        klOfRows -= rows[row]!;
        for (; i < trained.length && trained[i]! < offsets[row + 1]!; i++) {
          const t = trained[i]!;
          const scale = -weights[t]! * advantages[t]!;
          const isClipped = scale * bounded > scale * ratio;
          loss += scale * (isClipped ? bounded : ratio);
          if (isClipped) clipped++;
          else gradLogprobs[t] = scale * ratio;
          kl -= currentLogprobs[t]! - oldLogprobs[t]!;
        }
      }
      const metrics = { pg_clipfrac: meanOf(clipped, trained.length), ppo_kl: meanOf(kl, trained.length) };
      return { loss, gradLogprobs, metrics: { pg_loss: loss, ...metrics, ppo_kl_seq: rows.length === 0 ? 0 : klOfRows / rows.length } };
    },
});
