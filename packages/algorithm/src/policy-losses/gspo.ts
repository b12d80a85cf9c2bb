/** Clipped policy gradient with one importance ratio per sequence. */
import { numberArg, onlyWith } from '@trinity-rft/core';
import { clamp } from '../parts/numbers.js';
import { definePolicyLoss } from '../parts/policy-loss-part.js';

const args = {
  clipRange: onlyWith(
    'clip_range_low or clip_range_high left out',
    ({ clipRangeLow, clipRangeHigh }) => clipRangeLow === undefined || clipRangeHigh === undefined,
    numberArg(undefined, { min: 0 }, 'Both sides of the clip that are not set.'),
  ),
  clipRangeLow: numberArg(
    undefined,
    { min: 0 },
    'Rows whose ratio is below 1 - this are not pushed further down. Default: clip_range, else 0.0003.',
  ),
  clipRangeHigh: numberArg(
    undefined,
    { min: 0 },
    'Rows whose ratio is above 1 + this are not pushed further up. Default: clip_range, else 0.0004.',
  ),
};

/**
 * Computes l = max(-A s, -A clip(s, 1 - low, 1 + high)) with s = e^L, where L is the mean of d over
 * the trained tokens of the row. The gradient is that of s_t = e^(x - sg(x) + sg(L)), whose value
 * is s: dl/dx = -A s where the first argument of the max is larger, else 0. The paper aggregates
 * with `seq-mean-token-mean`.
 *
 * Metrics `pg_loss`, `pg_clipfrac`, `ppo_kl` (mean of -d), `ppo_kl_seq` (mean of -L over rows).
 * @see GSPO, arXiv:2507.18071, eq. 13 to 17 (GSPO-token)
 */
export const gspo = definePolicyLoss({
  args,
  doc: {
    summary:
      'Group sequence policy optimisation: clips whole sequences by the geometric mean of their ratios.',
    formula:
      's = e^(x - sg(x) + sg(mean of d over the row)); l = max(-A s, -A clip(s, 1 - clip_range_low, 1 + clip_range_high))',
    source: {
      title: 'Group Sequence Policy Optimization',
      url: 'https://arxiv.org/abs/2507.18071',
    },
  },
  lossMetric: 'pg_loss',
  tokenMeans: ['pg_clipfrac', 'ppo_kl'],
  rowMeans: ['ppo_kl_seq'],
  constants: ({ clipRange, clipRangeLow, clipRangeHigh }) => ({
    low: 1 - (clipRangeLow ?? clipRange ?? 3e-4),
    high: 1 + (clipRangeHigh ?? clipRange ?? 4e-4),
  }),
  row: ({ meanLogRatio }, out) => {
    out.sums.ppo_kl_seq -= meanLogRatio;
  },
  token: ({ advantage: A, logRatio: d, row: { meanRatio: s } }, out, { low, high }) => {
    const bounded = clamp(s, low, high);
    const isClipped = -A * bounded > -A * s;
    out.loss = -A * (isClipped ? bounded : s);
    out.gradient = isClipped ? 0 : -A * s;
    out.sums.pg_clipfrac += Number(isClipped);
    out.sums.ppo_kl -= d;
  },
});
