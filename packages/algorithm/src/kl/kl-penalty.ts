/**
 * Divergence from the reference as a penalty on rewards, with a constant or an adaptive
 * coefficient.
 */
import { ConfigError, InvariantError, mean } from '@trinity-rft/core';
import type { AdvantageInput, KlPenalty } from '@trinity-rft/core/internal';
import { checkAdvantageInput } from '../parts/check-input.js';
import { clamp } from '../parts/numbers.js';
import { eachTrainedToken } from '../parts/rows.js';
import type { KlEstimator } from './estimators.js';

export interface KlPenaltyOptions {
  /** Name of the KL function, used in error messages. */
  readonly owner: string;
  /** Coefficient of the first step. */
  readonly klCoef: number;
  readonly adaptive: boolean;
  readonly targetKl: number | undefined;
  readonly horizon: number | undefined;
}

/**
 * Prevents division by zero in rows without trained tokens, whose mean divergence is then 0. The
 * value is the same as in Trinity-RFT.
 */
const epsilon = 1e-8;

/**
 * Makes a penalty that subtracts c * kl(old, reference)_t from the reward of each trained token. If
 * the penalty is adaptive, the next coefficient after a batch of B rows is c' = c * (1 + clip(kl /
 * targetKl - 1, -0.2, 0.2) * min(1, B / horizon)). The term min(1, B / horizon) keeps the
 * coefficient above 0, because a coefficient of 0 could never rise again. kl is the mean over rows
 * of the mean divergence of a row. Metrics: `kl`, and `kl_coef`, the coefficient of this step.
 * @see arXiv:1909.08593, section 2.2
 */
export function klPenalty(
  estimator: KlEstimator | undefined,
  options: KlPenaltyOptions,
): KlPenalty | undefined {
  const { owner, klCoef, adaptive, targetKl, horizon } = options;
  if (adaptive && (targetKl === undefined || horizon === undefined))
    throw new ConfigError(
      `The argument "adaptive" of ${owner} is true; expected "targetKl" and "horizon" too.`,
      { code: 'ARGUMENT_INVALID' },
    );
  if (klCoef === 0 || !estimator) return undefined;
  const steer = adaptive ? { targetKl: targetKl!, horizon: horizon! } : undefined;
  return {
    initialCoefficient: klCoef,
    adaptive,
    apply: (input, coefficient) => {
      const { rewards, kl } = penalise(input, estimator, coefficient);
      const rows = input.offsets.length - 1;
      const error = steer && rows > 0 ? clamp(kl / steer.targetKl - 1, -0.2, 0.2) : 0;
      const share = steer ? Math.min(1, rows / steer.horizon) : 0;
      const nextCoefficient = coefficient * (1 + error * share);
      return { rewards, nextCoefficient, metrics: { kl, kl_coef: coefficient } };
    },
  };
}

/** Returns the penalised rewards, and as `kl` the mean over rows of each row's mean divergence. */
function penalise(
  input: AdvantageInput,
  estimator: KlEstimator,
  coefficient: number,
): { readonly rewards: Float32Array; readonly kl: number } {
  const { offsets, refLogprobs } = input;
  if (!refLogprobs)
    throw new InvariantError(
      'The KL penalty was given no log-probabilities of the reference; the algorithm declares that it needs them.',
      { code: 'REFERENCE_MISSING' },
    );
  checkAdvantageInput(input, ['rewards', 'oldLogprobs', 'refLogprobs']);
  const rewards = input.rewards.slice();
  const rows = Array.from({ length: offsets.length - 1 }, () => ({ sum: 0, trained: 0 }));
  const token = { refLogRatio: 0, ratio: 1, ratioSlope: 0 };
  const out = { loss: 0, gradient: 0 };
  eachTrainedToken(input, (t, index) => {
    token.refLogRatio = refLogprobs[t]! - input.oldLogprobs[t]!;
    estimator(token, out);
    rewards[t]! -= coefficient * out.loss;
    const row = rows[index]!;
    row.sum += out.loss;
    row.trained++;
  });
  const means = rows.map(({ sum, trained }) => sum / (trained + epsilon));
  return { rewards, kl: means.length === 0 ? 0 : mean(means) };
}
