/** Policy gradient whose importance weights are clipped, so that no token is left out. */
import { booleanArg, numberArg } from '@trinity-rft/core';
import { tokenTerm } from '../parts/token-term.js';
import { clamp, definePolicyLoss, ratiosOf } from '../parts/policy-loss-part.js';

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
  maskClipRangeLow: numberArg(1, { min: 0 }, 'Lower side of that range: 1 - this.'),
  maskClipRangeHigh: numberArg(0.28, { min: 0 }, 'Upper side of that range: 1 + this.'),
};

/**
 * w = clip(r, 1 - low, 1 + high): l = -sg(w M) A x, dl/dx = -w M A. M is 1; with `enableMaskClip`
 * it is 0 where A > 0 and r > 1 + maskHigh, or A < 0 and r < 1 - maskLow. Metrics `cispo_loss`,
 * `ppo_kl` (mean of -d), `unmasked_frac` (mean of M).
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
  create: (options) => {
    const [low, high] = [1 - options.clipRangeLow, 1 + options.clipRangeHigh];
    const far = options.enableMaskClip ? 0 : Infinity;
    const [maskLow, maskHigh] = [
      1 - options.maskClipRangeLow - far,
      1 + options.maskClipRangeHigh + far,
    ];
    return tokenTerm({
      open: () => ({ kl: 0, kept: 0 }),
      visit: (block, state) => {
        const { size, current, d, advantage, value, gradient } = block;
        const ratio = ratiosOf(block);
        let [kl, kept] = [0, 0];
        for (let i = 0; i < size; i++) {
          const A = advantage[i]!;
          const r = ratio[i]!;
          const isMasked = A > 0 ? r > maskHigh : A < 0 && r < maskLow;
          gradient[i] = isMasked ? 0 : -clamp(r, low, high) * A;
          value[i] = gradient[i]! * current[i]!;
          if (!isMasked) kept++;
          kl -= d[i]!;
        }
        state.kl += kl;
        state.kept += kept;
      },
      metrics: (loss, mean, { kl, kept }) => ({
        cispo_loss: loss,
        ppo_kl: mean(kl),
        unmasked_frac: mean(kept),
      }),
    });
  },
});
