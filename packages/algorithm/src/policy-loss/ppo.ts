/** Clipped policy gradient with a second clip for negative advantages. */
import { booleanArg, numberArg, type ArgValues, type LossInput } from '@trinity-rft/core';
import { aggregateLoss, maskedMean } from '../aggregate.js';
import { definePart, type TermWithNeeds } from '../part.js';
import { sequenceMask } from './sequence-mask.js';

const args = {
  /** 0.2 allows importance ratios from 0.8 to 1.2. */
  clipRange: numberArg(0.2, { min: 0 }),
  /** Overrides the lower side of `clipRange`. */
  clipRangeLow: numberArg(undefined, { min: 0 }),
  /** Overrides the upper side of `clipRange`. */
  clipRangeHigh: numberArg(undefined, { min: 0 }),
  /** Where the advantage is negative, the loss is at most -A times this. */
  clipRatioC: numberArg(3, { above: 1 }),
  /** Leave out tokens of negative advantage in rows that the policy has moved away from. */
  enableSequenceMasking: booleanArg(false),
  /** Mean of old - current log-probability above which a row counts as such. */
  deltaSequenceMasking: numberArg(0.1),
  /** Take the ratio as 1: plain policy gradient, without clipping. */
  fallbackToPolicyGradient: booleanArg(false),
};

/** exp overflows float32 at 88; one such token would poison the batch. */
const largestLogRatio = 20;

/**
 * With d = clip(x - o, -20, 20), r = e^d, a = -A r, b = -A clip(r, 1 - low, 1 + high):
 * l = max(a, b), and l = min(l, -A c) where A < 0. dl/dx = -A r where a is active, 0 where a clip is.
 * A ratio exactly on a bound is not clipped.
 *
 * Metrics: `pg_loss`, `pg_clipfrac` (share b > a), `pg_clipfrac_lower` (share of the second clip), `ppo_kl` (mean of -d).
 * @see PPO, arXiv:1707.06347, eq. 7; dual clip, arXiv:1912.09729, eq. 5
 */
export const ppo = definePart(args, (options): TermWithNeeds => ({
  term: (input, weights) => evaluate(input, weights, options),
  needs: { rollouts: true },
}));

type Options = ArgValues<typeof args>;

function evaluate(input: LossInput, weights: Float64Array, options: Options): ReturnType<TermWithNeeds['term']> {
  const { actionMask, advantages } = input;
  const { clipRatioC, clipRangeLow = options.clipRange, clipRangeHigh = options.clipRange } = options;
  const logRatios = logRatiosOf(input, options);
  const masked = options.enableSequenceMasking ? sequenceMask(input, logRatios, options.deltaSequenceMasking) : undefined;
  const size = actionMask.length;
  const [losses, gradLogprobs, clipped, clippedLower] = [
    new Float64Array(size),
    new Float64Array(size),
    new Uint8Array(size),
    new Uint8Array(size),
  ];

  for (let t = 0; t < size; t++) {
    if (actionMask[t] === 0) continue;
    const advantage = advantages[t]!;
    const ratio = Math.exp(logRatios[t]!);
    const free = -advantage * ratio;
    const bounded = -advantage * Math.min(Math.max(ratio, 1 - clipRangeLow), 1 + clipRangeHigh);
    const ceiling = advantage < 0 ? -advantage * clipRatioC : Infinity;
    clipped[t] = bounded > free ? 1 : 0;
    clippedLower[t] = Math.max(free, bounded) > ceiling ? 1 : 0;
    if (masked?.tokens[t]) continue;
    losses[t] = Math.min(Math.max(free, bounded), ceiling);
    if (!clipped[t] && !clippedLower[t] && Math.abs(logRatioOf(input, t, options)) <= largestLogRatio) gradLogprobs[t] = weights[t]! * free;
  }

  const loss = aggregateLoss(losses, weights);
  return {
    loss,
    gradLogprobs,
    metrics: {
      pg_loss: loss,
      pg_clipfrac: maskedMean(clipped, actionMask),
      pg_clipfrac_lower: maskedMean(clippedLower, actionMask),
      ppo_kl: maskedMean(
        logRatios.map((d) => -d),
        actionMask,
      ),
      ...masked?.metrics,
    },
  };
}

/** x - o before the clamp; 0 where the ratio is taken as 1. */
function logRatioOf({ currentLogprobs, oldLogprobs }: LossInput, t: number, { fallbackToPolicyGradient }: Options): number {
  return fallbackToPolicyGradient ? 0 : currentLogprobs[t]! - oldLogprobs[t]!;
}

/** d of every trained token, 0 elsewhere. [N] */
function logRatiosOf(input: LossInput, options: Options): Float64Array {
  return Float64Array.from(input.actionMask, (trained, t) =>
    trained ? Math.min(Math.max(logRatioOf(input, t, options), -largestLogRatio), largestLogRatio) : 0,
  );
}
