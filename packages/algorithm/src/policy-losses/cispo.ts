/** Policy gradient with clipped importance weights. By default, no token is excluded. */
import { booleanArg, numberArg, onlyWith, type Arg } from '@trinity-rft/core';
import { clamp } from '../parts/numbers.js';
import { definePolicyLoss } from '../parts/policy-loss-part.js';

const whenMasking = <T>(arg: Arg<T>): Arg<T> =>
  onlyWith('enable_mask_clip: true', ({ enableMaskClip }) => enableMaskClip === true, arg);

const args = {
  clipRangeLow: numberArg(
    1,
    { min: 0 },
    'Importance weights are at least 1 - this; 1 leaves them as low as they are.',
  ),
  clipRangeHigh: numberArg(0.28, { min: 0 }, 'Importance weights are at most 1 + this.'),
  enableMaskClip: booleanArg(
    false,
    'Leave out tokens that the advantage would push further out of the range below, as PPO does.',
  ),
  maskClipRangeLow: whenMasking(numberArg(1, { min: 0 }, 'Lower side of that range: 1 - this.')),
  maskClipRangeHigh: whenMasking(
    numberArg(0.28, { min: 0 }, 'Upper side of that range: 1 + this.'),
  ),
};

/**
 * Computes l = -sg(w M) A x with w = clip(r, 1 - low, 1 + high) and dl/dx = -w M A, where sg stops
 * the gradient. M is 1. With `enableMaskClip`, M is 0 where A > 0 and r > 1 + maskHigh, or A < 0
 * and r < 1 - maskLow. Metrics `cispo_loss`, `ppo_kl` (mean of -d), `unmasked_frac` (mean of M).
 * @see MiniMax-M1, arXiv:2506.13585, eq. 4 to 7
 */
export const cispo = definePolicyLoss({
  args,
  doc: {
    summary:
      'Clipped importance-sampling policy optimisation: the weight is clipped, the gradient of the token is not.',
    formula: 'l = -sg(clip(r, 1 - clip_range_low, 1 + clip_range_high)) A x',
    source: {
      title: 'MiniMax-M1: Scaling Test-Time Compute Efficiently with Lightning Attention',
      url: 'https://arxiv.org/abs/2506.13585',
    },
  },
  lossMetric: 'cispo_loss',
  tokenMeans: ['ppo_kl', 'unmasked_frac'],
  constants: ({ enableMaskClip, ...ranges }) => ({
    low: 1 - ranges.clipRangeLow,
    high: 1 + ranges.clipRangeHigh,
    maskLow: enableMaskClip ? 1 - ranges.maskClipRangeLow : -Infinity,
    maskHigh: enableMaskClip ? 1 + ranges.maskClipRangeHigh : Infinity,
  }),
  known: ({ low, high, maskHigh }) =>
    maskHigh === Infinity ? { name: 'cispo', low, high } : undefined,
  token: ({ logprob: x, advantage: A, ratio: r, logRatio: d }, out, c) => {
    out.sums.ppo_kl -= d;
    if (A > 0 ? r > c.maskHigh : A < 0 && r < c.maskLow) return;
    const weight = clamp(r, c.low, c.high);
    out.loss = -weight * A * x;
    out.gradient = -weight * A;
    out.sums.unmasked_frac += 1;
  },
});
