/** Proximal policy optimisation: a clipped policy gradient. */
import { booleanArg, numberArg, onlyWith, type Arg } from '@trinity-rft/core';
import { clamp, clampLogRatio } from '../parts/numbers.js';
import { definePolicyLoss } from '../parts/policy-loss-part.js';
import { sequenceMasked } from './sequence-mask.js';

/** Arguments that control the clipping. `mix` and `mix_chord` have the same arguments. */
export const clipArgs = {
  clipRange: onlyWith(
    'clip_range_low or clip_range_high left out, and ratios that are clipped',
    ({ clipRangeLow, clipRangeHigh, fallbackToPolicyGradient }) =>
      (clipRangeLow === undefined || clipRangeHigh === undefined) &&
      fallbackToPolicyGradient !== true,
    numberArg(0.2, { min: 0 }, 'Importance ratios are clipped to 1 - this and 1 + this.'),
  ),
  clipRangeLow: numberArg(undefined, { min: 0 }, 'Lower side of the clip. Default: clip_range.'),
  clipRangeHigh: numberArg(undefined, { min: 0 }, 'Upper side of the clip. Default: clip_range.'),
  clipRatioC: numberArg(
    3,
    { above: 1 },
    'Where the advantage is negative, the loss is at most -A times this.',
  ),
};

const ifClipped = <T>(arg: Arg<T>): Arg<T> =>
  onlyWith(
    'fallback_to_policy_gradient: false',
    ({ fallbackToPolicyGradient }) => fallbackToPolicyGradient !== true,
    arg,
  );

const args = {
  ...clipArgs,
  clipRangeLow: ifClipped(clipArgs.clipRangeLow),
  clipRangeHigh: ifClipped(clipArgs.clipRangeHigh),
  clipRatioC: ifClipped(clipArgs.clipRatioC),
  enableSequenceMasking: ifClipped(
    booleanArg(
      false,
      'Leave out tokens of negative advantage in rows that the policy has moved away from.',
    ),
  ),
  deltaSequenceMasking: onlyWith(
    'enable_sequence_masking: true',
    ({ enableSequenceMasking }) => enableSequenceMasking === true,
    numberArg(0.1, {}, 'Rows whose mean old - current log-probability exceeds this are masked.'),
  ),
  fallbackToPolicyGradient: booleanArg(
    false,
    'Take every ratio as 1, on all batches: plain policy gradient. Nothing is clipped, and sequence masking has no effect.',
  ),
};

/**
 * Computes l = max(-A r, -A clip(r, 1 - low, 1 + high)) with r = e^clip(d, -20, 20), and then l =
 * min(l, -A c) where A < 0. dl/dx = -A r where l = -A r and |d| <= 20, else 0. A ratio exactly on a
 * bound is not clipped. With `fallbackToPolicyGradient`, r = e^(x - sg(x)) = 1, dl/dx = -A, and d
 * counts as 0 in `ppo_kl` and in the sequence mask.
 *
 * Metrics: `pg_loss`, `pg_clipfrac` (share of tokens where the first clip is active),
 * `pg_clipfrac_lower` (share where the second clip is active), `ppo_kl` (mean of -clip(d, -20,
 * 20)).
 * @see PPO, arXiv:1707.06347, eq. 7; dual clip, arXiv:1912.09729, eq. 5
 */
export const ppo = definePolicyLoss({
  args,
  doc: {
    summary:
      'Proximal policy optimisation: no gain from moving a token beyond the clip range; a second clip bounds the loss of bad tokens.',
    formula:
      'l = max(-A r, -A clip(r, 1 - low, 1 + high)); where A < 0: l = min(l, -A clip_ratio_c)',
    source: {
      title: 'Proximal Policy Optimization Algorithms',
      url: 'https://arxiv.org/abs/1707.06347',
    },
  },
  ratios: ({ fallbackToPolicyGradient }) => !fallbackToPolicyGradient,
  lossMetric: 'pg_loss',
  tokenMeans: ['pg_clipfrac', 'pg_clipfrac_lower', 'ppo_kl'],
  constants: ({ clipRange, clipRangeLow, clipRangeHigh, clipRatioC, ...options }) => ({
    low: 1 - (clipRangeLow ?? clipRange),
    high: 1 + (clipRangeHigh ?? clipRange),
    c: clipRatioC,
    onPolicy: options.fallbackToPolicyGradient,
    masked: options.enableSequenceMasking,
  }),
  known: ({ onPolicy, masked, low, high }) => {
    if (masked) return undefined;
    return onPolicy ? { name: 'linear' } : { name: 'ppo', low, high };
  },
  token: (token, out, { low, high, c, onPolicy }) => {
    const { advantage: A } = token;
    const { ratio: r, ratioSlope, logRatio: d } = onPolicy ? samePolicy : token;
    const free = -A * r;
    const clipped = -A * clamp(r, low, high);
    const larger = Math.max(free, clipped);
    out.loss = A < 0 ? Math.min(larger, -A * c) : larger;
    out.gradient = out.loss === free ? -A * ratioSlope : 0;
    out.sums.pg_clipfrac += Number(clipped > free);
    out.sums.pg_clipfrac_lower += Number(out.loss < larger);
    out.sums.ppo_kl -= clampLogRatio(d);
  },
  wrap: (loss, options) => (options.enableSequenceMasking ? sequenceMasked(loss, options) : loss),
});

/** Overrides of a token's quantities, as if the current policy had sampled the token. */
const samePolicy = { ratio: 1, ratioSlope: 1, logRatio: 0 };
