/**
 * Group-relative advantages that exclude tokens from training if training on them would reduce the
 * entropy too much.
 */
import { type AlgorithmNeeds, type Metrics, InvariantError, numberArg } from '@trinity-rft/core';
import type { AdvantageInput } from '@trinity-rft/core/internal';
import type { AdvantageStrategy } from '../../parts/advantage-part.js';
import { checkAdvantageInput } from '../../parts/check-input.js';
import { byDeviation, byGroup } from './group-scores.js';
import { compareArg, type Compared } from './runs.js';

export const clipArgs = {
  compare: compareArg,
  epsilon: numberArg(1e-6, { min: 0 }, 'Added to the standard deviation of the rewards of a task.'),
};

export interface ClipOptions {
  readonly compare: Compared;
  readonly epsilon: number;
  /** Number of standard deviations above which the distance of a token causes its removal. */
  readonly mu: number;
}

export interface Distances {
  /**
   * Amount by which the entropy effect of each token lies below its expected value. Tokens with
   * large distances are removed. [N]
   */
  readonly distances: Float64Array;
  readonly deviation: number;
  /** Maximum number of tokens to remove, largest distances first. @default no limit */
  readonly most?: number;
  readonly metrics: Metrics;
}

/**
 * Computes advantages as in `grpo_verl` and removes tokens with A < 0 and distance > mu * deviation
 * from the action mask. Adds `frac_clipped`, `frac_clipped_pos` and `frac_clipped_neg` to the
 * metrics. Needs entropies.
 */
export function clipping(
  { compare, epsilon, mu }: ClipOptions,
  measure: (input: AdvantageInput, effects: Float64Array) => Distances,
  needs?: Partial<AlgorithmNeeds>,
): AdvantageStrategy {
  const { batchAdvantage } = byGroup(byDeviation(epsilon), { compare });
  return {
    batchAdvantage: (input) => {
      checkAdvantageInput(input, ['rewards', 'oldLogprobs', 'entropy']);
      const { advantages, returns, metrics } = batchAdvantage(input);
      const { distances, deviation, most, ...own } = measure(input, entropyEffects(input));
      const outliers: number[] = [];
      if (deviation >= smallestDeviation)
        for (const [t, distance] of distances.entries())
          if (advantages[t]! < 0 && distance > mu * deviation) outliers.push(t);
      const actionMask = input.actionMask.slice();
      outliers.sort((a, b) => distances[b]! - distances[a]!);
      for (const t of outliers.slice(0, most)) actionMask[t] = 0;
      const clipped = clipMetrics(input.actionMask, actionMask, advantages);
      return {
        advantages,
        returns,
        actionMask,
        metrics: { ...metrics, ...clipped, ...own.metrics },
      };
    },
    needs: { entropy: 'value', ...needs },
  };
}

/**
 * Returns, to first order, by how much the entropy falls per unit increase of a token's logit: p
 * (H + log p), where p is the probability of the token at sampling and H the entropy. The value is
 * 0 for masked tokens. [N]
 * @see On the Entropy Dynamics in Reinforcement Fine-Tuning of Large Language Models,
 * arXiv:2602.03392
 * @throws InvariantError if there are no entropies
 */
function entropyEffects({ actionMask, oldLogprobs, entropy }: AdvantageInput): Float64Array {
  if (!entropy)
    throw new InvariantError(
      'The advantage function was given no entropies; the algorithm declares that it needs them.',
      { code: 'ENTROPY_MISSING' },
    );
  const effects = new Float64Array(actionMask.length);
  for (let t = 0; t < effects.length; t++) {
    if (actionMask[t] === 1)
      effects[t] = Math.exp(oldLogprobs[t]!) * (entropy[t]! + oldLogprobs[t]!);
  }
  return effects;
}

/**
 * Standard deviation below which all values are considered equal, so that no token is an outlier.
 */
const smallestDeviation = 1e-12;

/**
 * Returns `frac_clipped`, the share of trained tokens that were removed, and `frac_clipped_pos` and
 * `frac_clipped_neg`, the shares among trained tokens with positive and with negative advantage. A
 * share is 0 if its denominator is 0.
 */
function clipMetrics(before: Uint8Array, after: Uint8Array, advantages: Float32Array): Metrics {
  // Numbers of tokens by the sign of the advantage: below, at and above 0.
  const [all, taken] = [
    [0, 0, 0],
    [0, 0, 0],
  ];
  for (let t = 0; t < before.length; t++) {
    if (before[t] === 0) continue;
    const sign = advantages[t]! > 0 ? 2 : advantages[t]! < 0 ? 0 : 1;
    all[sign]!++;
    if (after[t] === 0) taken[sign]!++;
  }
  const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
  return {
    frac_clipped: share(taken[0]! + taken[1]! + taken[2]!, all[0]! + all[1]! + all[2]!),
    frac_clipped_pos: share(taken[2]!, all[2]!),
    frac_clipped_neg: share(taken[0]!, all[0]!),
  };
}
