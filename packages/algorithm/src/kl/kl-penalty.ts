/**
 * The divergence from the reference as a penalty on rewards, with a constant or an adaptive
 * coefficient.
 */
import {
  ConfigError,
  InvariantError,
  type AdvantageInput,
  type KlPenalty,
} from '@trinity-rft/core';
import { checkAdvantageInput } from '../parts/check-input.js';
import { clamp } from '../parts/numbers.js';
import type { KlEstimator } from './estimators.js';

export interface KlPenaltyOptions {
  /** For messages. */
  readonly owner: string;
  /** Of the first step. */
  readonly klCoef: number;
  readonly adaptive: boolean;
  readonly targetKl: number | undefined;
  readonly horizon: number | undefined;
}

/** As in the original; a row without trained tokens counts as 0 in the mean. */
const epsilon = 1e-8;

/**
 * reward_t - c * kl(old, reference)_t on trained tokens. Adaptive, with B rows: c' = c * (1 +
 * clip(kl / targetKl - 1, -0.2, 0.2) * B / horizon), kl the mean over rows of their means. Metrics
 * `kl` and `kl_coef`, that of this step.
 * @see arXiv:1909.08593, section 2.2
 */
export function klPenalty(
  estimator: KlEstimator | undefined,
  options: KlPenaltyOptions,
): KlPenalty | undefined {
  const { owner, klCoef, adaptive, targetKl, horizon } = options;
  if (adaptive && (targetKl === undefined || horizon === undefined))
    throw new ConfigError(
      `The argument "adaptive" of ${owner} is true; expected "targetKl" and "horizon" beside it.`,
      { code: 'ARGUMENT_INVALID' },
    );
  if (klCoef === 0 || !estimator) return undefined;
  return {
    initialCoefficient: klCoef,
    apply: (input, coefficient) => {
      const { offsets, actionMask, refLogprobs } = input;
      if (!refLogprobs)
        throw new InvariantError(
          'The KL penalty was given no log-probabilities of the reference; the algorithm declares that it needs them.',
          { code: 'REFERENCE_MISSING' },
        );
      checkAdvantageInput(input, ['rewards', 'oldLogprobs', 'refLogprobs']);
      const rewards = input.rewards.slice();
      const values = divergences(estimator, input, refLogprobs);
      const rows = offsets.length - 1;
      let rowMeans = 0;
      for (let row = 0; row < rows; row++) {
        let [sum, trained] = [0, 0];
        for (let t = offsets[row]!; t < offsets[row + 1]!; t++) {
          if (actionMask[t] === 0) continue;
          rewards[t] = rewards[t]! - coefficient * values[t]!;
          sum += values[t]!;
          trained++;
        }
        rowMeans += sum / (trained + epsilon);
      }
      const kl = rows === 0 ? 0 : rowMeans / rows;
      const error = adaptive && rows > 0 ? clamp(kl / targetKl! - 1, -0.2, 0.2) : 0;
      const nextCoefficient =
        error === 0 ? coefficient : Math.max(0, coefficient * (1 + (error * rows) / horizon!));
      return { rewards, nextCoefficient, metrics: { kl, kl_coef: coefficient } };
    },
  };
}

/** The divergence of the sampling policy from the reference; 0 on masked tokens. [N] */
function divergences(
  estimator: KlEstimator,
  { actionMask, oldLogprobs }: AdvantageInput,
  refLogprobs: Float32Array,
): Float64Array {
  const values = new Float64Array(actionMask.length);
  const token = { refLogRatio: 0, ratio: 1, ratioSlope: 0 };
  const out = { loss: 0, gradient: 0 };
  for (let t = 0; t < values.length; t++) {
    if (actionMask[t] === 0) continue;
    token.refLogRatio = refLogprobs[t]! - oldLogprobs[t]!;
    estimator(token, out);
    values[t] = out.loss;
  }
  return values;
}
