/** The KL loss: a coefficient times the aggregate of an estimator. */
import { ConfigError, InvariantError } from '@trinity-rft/core';
import type { TermWithNeeds } from '../part.js';
import type { KlEstimator } from './estimators.js';

export interface KlTermOptions {
  /** For messages. */
  readonly owner: string;
  readonly klCoef: number;
  readonly adaptive: boolean;
  /** Whether there are sampling log-probabilities. */
  readonly rollouts: boolean;
}

/** loss = klCoef * agg(kl). Metrics `kl_loss` = agg(kl), without the coefficient, and `kl_coef`. */
export function klTerm(
  estimator: KlEstimator | undefined,
  { owner, klCoef, adaptive, rollouts }: KlTermOptions,
): TermWithNeeds | undefined {
  if (adaptive)
    throw new ConfigError(
      `The argument "adaptive" of ${owner} is true; the coefficient of a loss stays as it is given. Remove "adaptive", "targetKl" and "horizon", or use kl_penalty_fn.`,
      { code: 'KL_ADAPTIVE' },
    );
  if (klCoef === 0 || !estimator) return undefined;
  const term: TermWithNeeds['term'] = ({ actionMask, currentLogprobs, oldLogprobs, refLogprobs }, weights) => {
    if (!refLogprobs)
      throw new InvariantError('The KL loss was given no log-probabilities of the reference; the algorithm declares that it needs them.', {
        code: 'REFERENCE_MISSING',
      });
    const gradLogprobs = new Float64Array(weights.length);
    let sum = 0;
    for (let t = 0; t < weights.length; t++) {
      if (actionMask[t] === 0) continue;
      const [current, weight] = [currentLogprobs[t]!, weights[t]!];
      const [a, d] = [refLogprobs[t]! - current, rollouts ? current - oldLogprobs[t]! : 0];
      const value = estimator.value(a, d);
      sum += weight * value;
      gradLogprobs[t] = klCoef * weight * estimator.gradient(a, d, value);
    }
    return { loss: klCoef * sum, gradLogprobs, metrics: { kl_loss: sum, kl_coef: klCoef } };
  };
  return { term, needs: { referenceLogprobs: true } };
}
