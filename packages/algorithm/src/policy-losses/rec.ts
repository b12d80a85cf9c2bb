/** REINFORCE as an off-policy algorithm, with a choice of clipping, weights and regularizer. */
import { ConfigError } from '@trinity-rft/core';
import { definePolicyLoss } from '../parts/policy-loss-part.js';
import { recArgs } from './rec-args.js';
import { rangeTests, tokenWeights } from './rec-choices.js';

/**
 * Computes l = -A' I x + c reg, where A' and I are constants for the gradient. dl/dx = -A' I, plus
 * 2 c d for `k2` (reg = d^2), or minus c for `forward-kl` (reg = -x). The regularizer also applies
 * to tokens that are out of range. With s = e^(mean of d over the row):
 *
 * | clipMode | I = 1 where |
 * |---|---|
 * | `none` | always |
 * | `two-side` | 1 - low <= r <= 1 + high |
 * | `one-side` | r <= 1 + high for A >= 0, r >= 1 - low for A <= 0 |
 * | `gspo-one-side` | like `one-side` with s instead of r; always aggregated as `seq-mean-token-mean` |
 * | `ring` | like `two-side`, or r <= 1 - low' for A >= 0, or r >= 1 + high' for A <= 0 |
 *
 * A' is A times 1, r, clip(r, 1 - low', 1 + high'), s (only with `gspo-one-side`) or e^(A / temp).
 * `fixOpdAdvantage` then adds o - sg(x). Metrics `pg_loss`, `pg_clipfrac` (share with I = 0).
 * @see arXiv:2509.24203, section 4
 */
export const rec = definePolicyLoss({
  args: recArgs,
  doc: {
    summary:
      'REINFORCE with a choice of clip, weight and regularizer: the family that contains GRPO, OPMD and AsymRE.',
    formula: "l = -A' [r in range] x + regularizer_coef * (d^2 or -x)",
    source: {
      title: 'Group-Relative REINFORCE Is Secretly an Off-Policy Algorithm',
      url: 'https://arxiv.org/abs/2509.24203',
    },
  },
  ratios: ({ clipMode, weight, regularizer, regularizerCoef, fixOpdAdvantage }) =>
    clipMode !== 'none' ||
    !['none', 'advantage'].includes(weight) ||
    (regularizer === 'k2' && regularizerCoef > 0) ||
    fixOpdAdvantage,
  lossMetric: 'pg_loss',
  tokenMeans: ['pg_clipfrac'],
  constants: ({ clipMode, weight, regularizer, regularizerCoef, ...options }) => {
    const byRow = clipMode === 'gspo-one-side';
    if (weight === 'gspo_importance_sampling' && !byRow)
      throw new ConfigError(
        'The argument "weight" of policy loss "rec" is "gspo_importance_sampling"; expected "clipMode" to be "gspo-one-side".',
        { code: 'ARGUMENT_INVALID' },
      );
    const bounds = {
      low: 1 - options.epsilonLow,
      high: 1 + options.epsilonHigh,
      outerLow: 1 - options.epsilonLowPrime,
      outerHigh: 1 + options.epsilonHighPrime,
      temp: options.temp,
    };
    return {
      byRow,
      bounds,
      isInRange: rangeTests[clipMode],
      weightOf: tokenWeights[weight],
      k2: regularizer === 'k2' ? regularizerCoef : 0,
      forwardKl: regularizer === 'forward-kl' ? regularizerCoef : 0,
      fixOpdAdvantage: options.fixOpdAdvantage,
    };
  },
  token: (token, out, { byRow, bounds, isInRange, weightOf, k2, forwardKl, fixOpdAdvantage }) => {
    const { logprob: x, logRatio: d, advantage: A } = token;
    const isInside = isInRange(byRow ? token.row.meanRatio : token.ratio, A, bounds);
    const slope = isInside ? -A * weightOf(token, bounds) + (fixOpdAdvantage ? d : 0) : 0;
    out.loss = slope * x + k2 * d * d - forwardKl * x;
    out.gradient = slope + 2 * k2 * d - forwardKl;
    out.sums.pg_clipfrac += Number(!isInside);
  },
  aggregation: ({ clipMode }) => (clipMode === 'gspo-one-side' ? 'seq-mean-token-mean' : undefined),
});
