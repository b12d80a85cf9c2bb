/** Statistics over trained tokens, for the advantage functions that remove tokens from training. */
import { type Metrics, InvariantError } from '@trinity-rft/core';
import type { AdvantageInput } from '@trinity-rft/core/internal';
import { trainedMoments } from './whiten.js';

/**
 * Returns the first-order decrease of the entropy per increase of a token's logit: p (H + log p),
 * where p is the probability of the token at sampling, or 0 for masked tokens. [N]
 * @see On the Entropy Dynamics in Reinforcement Fine-Tuning of Large Language Models,
 * arXiv:2602.03392
 * @throws InvariantError if there are no entropies
 */
export function entropyEffects({ actionMask, oldLogprobs, entropy }: AdvantageInput): Float64Array {
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
export const smallestDeviation = 1e-12;

/**
 * Returns mean and population variance over tokens where the mask is 1; both are 0 if there are no
 * such tokens.
 */
export function trainedSpread(
  values: Float64Array,
  actionMask: Uint8Array,
): { readonly mean: number; readonly variance: number } {
  const { trained, mean, squares } = trainedMoments(values, actionMask);
  return { mean, variance: squares / Math.max(trained, 1) };
}

/**
 * Returns `frac_clipped`, the share of trained tokens that were removed, and `frac_clipped_pos` and
 * `frac_clipped_neg`, the shares among trained tokens with positive and with negative advantage. A
 * share is 0 if there are no tokens to count.
 */
export function clipMetrics(
  before: Uint8Array,
  after: Uint8Array,
  advantages: Float32Array,
): Metrics {
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
