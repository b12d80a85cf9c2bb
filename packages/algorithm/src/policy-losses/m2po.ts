/**
 * Importance-weighted policy gradient over a batch whose second moment of log-ratios is bounded.
 */
import { numberArg } from '@trinity-rft/core';
import { clamp } from '../parts/numbers.js';
import { definePolicyLoss } from '../parts/policy-loss-part.js';
import { trustMask } from './m2po-mask.js';

const args = {
  m2Threshold: numberArg(
    0.04,
    { min: 0 },
    'Largest mean of d^2 over the tokens that the advantage pushes further away.',
  ),
  logRatioClip: numberArg(
    20,
    { above: 0, max: 80 },
    'Log-ratios are clipped to ±this before they are exponentiated.',
  ),
};

/**
 * Computes l = -A e^clip(d, -clip, clip) for tokens that {@link trustMask} keeps, and 0 for other
 * tokens. All trained tokens, removed or not, count in the denominator. The gradient ignores the
 * clip: dl/dx = -A e^clip(d). The mask counts as a constant, and depends on the whole optimizer
 * batch.
 *
 * Metrics `pg_loss`, `ppo_kl` (mean of -clip(d)), `ratio/mean`, `m2_before`, `m2_after` (mean of
 * d^2 over the candidates), `masked_fraction`, `trust_region_fraction` (of trained tokens).
 * @see M2PO, arXiv:2510.01161, algorithm 1
 */
export const m2po = definePolicyLoss({
  args,
  doc: {
    summary:
      'Second-moment trust policy optimisation: leaves out the few tokens that make a stale batch diverge.',
    formula:
      'l = -A e^clip(d) where kept; kept: the longest prefix by rising d^2, of tokens with A d > 0, whose mean of d^2 <= m2_threshold',
    source: {
      title: 'Prosperity before Collapse: How Far Can Off-Policy RL Reach with Stale Data on LLMs?',
      url: 'https://arxiv.org/abs/2510.01161',
    },
  },
  lossMetric: 'pg_loss',
  tokenMeans: ['ppo_kl', 'ratio/mean'],
  prepare: (input, { m2Threshold, logRatioClip }) => ({
    ...trustMask(input, m2Threshold),
    limit: logRatioClip,
  }),
  token: ({ advantage: A, logRatio: d, index }, out, { kept, limit }) => {
    const clipped = clamp(d, -limit, limit);
    const r = Math.exp(clipped);
    out.loss = kept[index] === 1 ? -A * r : 0;
    out.gradient = out.loss;
    out.sums.ppo_kl -= clipped;
    out.sums['ratio/mean'] += r;
  },
  metrics: ({ metrics }) => metrics,
});
