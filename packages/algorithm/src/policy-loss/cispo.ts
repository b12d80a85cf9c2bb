/** Policy gradient whose importance weights are clipped, so that no token is left out. */
import { booleanArg, numberArg } from '@trinity-rft/core';
import { blockSize, meanOf, trainedTokens } from '../aggregate.js';
import { definePolicyLoss } from './define.js';
import { tokenRatios } from './rows.js';

const args = {
  clipRangeLow: numberArg(1, { min: 0 }, 'Importance weights are at least 1 - this; 1 leaves them as low as they are.'),
  clipRangeHigh: numberArg(0.28, { min: 0 }, 'Importance weights are at most 1 + this.'),
  enableMaskClip: booleanArg(false, 'Leave out tokens that the advantage would push further out of the range below, as PPO does.'),
  maskClipRangeLow: numberArg(1, { min: 0 }, 'Lower side of that range: 1 - this.'),
  maskClipRangeHigh: numberArg(0.28, { min: 0 }, 'Upper side of that range: 1 + this.'),
};

/**
 * w = clip(r, 1 - low, 1 + high): l = -sg(w M) A x, dl/dx = -w M A. M is 1; with `enableMaskClip` it is 0 where A > 0 and
 * r > 1 + maskHigh, or A < 0 and r < 1 - maskLow. Metrics `cispo_loss`, `ppo_kl` (mean of -d), `unmasked_frac` (mean of M).
 * @see MiniMax-M1, arXiv:2506.13585, eq. 4 to 7
 */
export const cispo = definePolicyLoss({
  args,
  doc: {
    summary: 'Clipped importance-sampling policy optimisation: the weight is clipped, the gradient of the token is not.',
    formula: 'l = -sg(clip(r, 1 - clip_range_low, 1 + clip_range_high)) A x',
    source: {
      title: 'MiniMax-M1: Scaling Test-Time Compute Efficiently with Lightning Attention',
      url: 'https://arxiv.org/abs/2506.13585',
    },
  },
  create: (options) => (input, weights) => {
    const { actionMask, advantages, currentLogprobs, oldLogprobs } = input;
    const [low, high] = [1 - options.clipRangeLow, 1 + options.clipRangeHigh];
    const far = options.enableMaskClip ? 0 : Infinity;
    const [maskLow, maskHigh] = [1 - options.maskClipRangeLow - far, 1 + options.maskClipRangeHigh + far];
    const trained = trainedTokens(actionMask);
    const gradLogprobs = new Float32Array(weights.length);
    const ratios = new Float64Array(blockSize);
    let [loss, kl, masked] = [0, 0, 0];
    for (let from = 0; from < trained.length; from += blockSize) {
      const to = Math.min(from + blockSize, trained.length);
      tokenRatios(input, trained, from, to, ratios);
      for (let i = from; i < to; i++) {
        const t = trained[i]!;
        const current = currentLogprobs[t]!;
        const advantage = advantages[t]!;
        const d = current - oldLogprobs[t]!;
        const ratio = ratios[i - from]!;
        kl -= d;
        const isMasked = advantage > 0 ? ratio > maskHigh : advantage < 0 && ratio < maskLow;
        const gradient = isMasked ? 0 : -weights[t]! * Math.min(Math.max(ratio, low), high) * advantage;
        loss += gradient * current;
        gradLogprobs[t] = gradient;
        if (isMasked) masked++;
      }
    }
    return {
      loss,
      gradLogprobs,
      metrics: { cispo_loss: loss, ppo_kl: meanOf(kl, trained.length), unmasked_frac: meanOf(trained.length - masked, trained.length) },
    };
  },
});
