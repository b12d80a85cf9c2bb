/** Clipped policy gradient with a second clip for negative advantages. */
import { booleanArg, numberArg, type ArgValues, type LossInput } from '@trinity-rft/core';
import { blockSize, meanOf, trainedTokens } from '../aggregate.js';
import type { TermOutput } from '../part.js';
import { boundLogRatio, definePolicyLoss } from './define.js';
import { tokenRatios } from './rows.js';
import { sequenceMask } from './sequence-mask.js';

/** Of the clip: those of `mix` too. */
export const clipArgs = {
  clipRange: numberArg(0.2, { min: 0 }, 'Importance ratios are clipped to 1 - this and 1 + this.'),
  clipRangeLow: numberArg(undefined, { min: 0 }, 'Lower side of the clip. Default: clip_range.'),
  clipRangeHigh: numberArg(undefined, { min: 0 }, 'Upper side of the clip. Default: clip_range.'),
  clipRatioC: numberArg(3, { above: 1 }, 'Where the advantage is negative, the loss is at most -A times this.'),
};

const args = {
  ...clipArgs,
  enableSequenceMasking: booleanArg(false, 'Leave out tokens of negative advantage in rows that the policy has moved away from.'),
  deltaSequenceMasking: numberArg(0.1, {}, 'Mean of old - current log-probability above which a row counts as such.'),
  fallbackToPolicyGradient: booleanArg(false, 'Take the ratio as 1: plain policy gradient, without clipping.'),
};

/**
 * With d = clip(x - o, -20, 20), r = e^d, a = -A r, b = -A clip(r, 1 - low, 1 + high):
 * l = max(a, b), and l = min(l, -A c) where A < 0. dl/dx = -A r where a is active, 0 where a clip is.
 * A ratio exactly on a bound is not clipped. With `fallbackToPolicyGradient` d = x - sg(x), so r = 1 and dl/dx = -A.
 *
 * Metrics: `pg_loss`, `pg_clipfrac` (share b > a), `pg_clipfrac_lower` (share of the second clip), `ppo_kl` (mean of -d).
 * @see PPO, arXiv:1707.06347, eq. 7; dual clip, arXiv:1912.09729, eq. 5
 */
export const ppo = definePolicyLoss({
  args,
  doc: {
    summary:
      'Proximal policy optimisation: no gain from moving a token beyond the clip range; a second clip bounds the loss of bad tokens.',
    formula: 'l = max(-A r, -A clip(r, 1 - low, 1 + high)); where A < 0: l = min(l, -A clip_ratio_c)',
    source: { title: 'Proximal Policy Optimization Algorithms', url: 'https://arxiv.org/abs/1707.06347' },
  },
  create: (options) => (given, weights) => {
    // Where the old policy is taken to be the current one, every ratio is 1.
    const input = options.fallbackToPolicyGradient ? { ...given, oldLogprobs: given.currentLogprobs } : given;
    const masked = options.enableSequenceMasking ? sequenceMask(input, options.deltaSequenceMasking) : undefined;
    const { metrics, ...output } = clippedPolicyGradient(input, weights, options, masked?.tokens);
    return { ...output, metrics: { ...metrics, ...masked?.metrics } };
  },
});

/** `leftOut`: tokens without loss that stay in every denominator. [N] */
export function clippedPolicyGradient(
  input: LossInput,
  weights: Float64Array,
  options: ArgValues<typeof clipArgs>,
  leftOut?: Uint8Array,
): TermOutput {
  const { actionMask, advantages, currentLogprobs, oldLogprobs } = input;
  const { clipRatioC: most, clipRangeLow = options.clipRange, clipRangeHigh = options.clipRange } = options;
  const [low, high] = [1 - clipRangeLow, 1 + clipRangeHigh];
  const trained = trainedTokens(actionMask);
  const gradLogprobs = new Float32Array(weights.length);
  const ratios = new Float64Array(blockSize);
  let [loss, kl, clipped, clippedLower] = [0, 0, 0, 0];
  for (let from = 0; from < trained.length; from += blockSize) {
    const to = Math.min(from + blockSize, trained.length);
    tokenRatios(input, trained, from, to, ratios);
    for (let i = from; i < to; i++) {
      const t = trained[i]!;
      const advantage = advantages[t]!;
      const raw = currentLogprobs[t]! - oldLogprobs[t]!;
      const d = boundLogRatio(raw);
      const ratio = ratios[i - from]!;
      // The two clips and the maximum come to -A min(r, 1 + high) where A > 0, and -A clip(r, 1 - low, c) where A < 0.
      const isClipped = advantage > 0 ? ratio > high : advantage < 0 && ratio < low;
      const isCut = advantage < 0 && ratio > most;
      kl -= d;
      if (isClipped) clipped++;
      if (isCut) clippedLower++;
      if (leftOut !== undefined && leftOut[t] === 1) continue;
      const scale = -weights[t]! * advantage;
      if (isClipped) loss += scale * (advantage > 0 ? high : low);
      else if (isCut) loss += scale * most;
      else {
        loss += scale * ratio;
        if (raw === d) gradLogprobs[t] = scale * ratio;
      }
    }
  }
  const mean = (sum: number): number => meanOf(sum, trained.length);
  const metrics = { pg_loss: loss, pg_clipfrac: mean(clipped), pg_clipfrac_lower: mean(clippedLower), ppo_kl: mean(kl) };
  return { loss, gradLogprobs, metrics };
}
