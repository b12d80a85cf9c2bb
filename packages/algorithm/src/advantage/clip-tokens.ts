/** What the functions that take tokens out of training share: statistics over trained tokens, and how many were taken out. */
import { InvariantError, type AdvantageInput, type Metrics } from '@trinity-rft/core';

/**
 * How much raising a token's probability changes the entropy, to first order: p (H + log p), p its probability at sampling.
 * 0 on masked tokens. [N]
 * @see On the Entropy Dynamics in Reinforcement Fine-Tuning of Large Language Models, arXiv:2602.03392
 * @throws InvariantError without entropies
 */
export function entropyEffects({ actionMask, oldLogprobs, entropy }: AdvantageInput): Float64Array {
  if (!entropy)
    throw new InvariantError('The advantage function was given no entropies; the algorithm declares that it needs them.', {
      code: 'ENTROPY_MISSING',
    });
  const effects = new Float64Array(actionMask.length);
  for (let t = 0; t < effects.length; t++) {
    if (actionMask[t] === 1) effects[t] = Math.exp(oldLogprobs[t]!) * (entropy[t]! + oldLogprobs[t]!);
  }
  return effects;
}

/** Mean and population variance over tokens where the mask is 1; zeros where there are none. */
export function trainedMoments(values: Float64Array, actionMask: Uint8Array): { readonly mean: number; readonly variance: number } {
  let count = 0;
  let sum = 0;
  for (let t = 0; t < values.length; t++) {
    if (actionMask[t] === 0) continue;
    count++;
    sum += values[t]!;
  }
  if (count === 0) return { mean: 0, variance: 0 };
  const mean = sum / count;
  let squares = 0;
  for (let t = 0; t < values.length; t++) if (actionMask[t] === 1) squares += (values[t]! - mean) ** 2;
  return { mean, variance: squares / count };
}

/** `frac_clipped`: share of trained tokens taken out; `frac_clipped_pos`, `frac_clipped_neg`: among those of such advantage, 0 where there are none. */
export function clipMetrics(before: Uint8Array, after: Uint8Array, advantages: Float32Array): Metrics {
  const share = (counts: (advantage: number) => boolean): number => {
    let all = 0;
    let taken = 0;
    for (let t = 0; t < before.length; t++) {
      if (before[t] === 0 || !counts(advantages[t]!)) continue;
      all++;
      if (after[t] === 0) taken++;
    }
    return all === 0 ? 0 : taken / all;
  };
  return {
    frac_clipped: share(() => true),
    frac_clipped_pos: share((advantage) => advantage > 0),
    frac_clipped_neg: share((advantage) => advantage < 0),
  };
}
