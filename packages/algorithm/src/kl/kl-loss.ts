/** The KL term: a coefficient times the aggregate of an estimator. */
import { booleanArg, ConfigError, InvariantError, numberArg } from '@trinity-rft/core';
import { definePart, type Part, type TermWithNeeds } from '../part.js';
import type { KlEstimator } from './estimators.js';

const args = {
  klCoef: numberArg(0.001, { min: 0 }),
  adaptive: booleanArg(false),
  targetKl: numberArg(undefined, { above: 0 }),
  horizon: numberArg(undefined, { above: 0 }),
};

/** Undefined when there is nothing to compute: the reference model then does no work. */
export type KlPart = Part<TermWithNeeds | undefined, readonly [{ readonly rollouts: boolean }]>;

/** loss = klCoef * agg(kl). Metrics `kl_loss` = agg(kl), without the coefficient, and `kl_coef`. */
export function klLoss(estimate: KlEstimator): KlPart {
  return definePart(args, ({ klCoef, adaptive }, { rollouts }) => {
    if (adaptive)
      throw new ConfigError(
        'The argument "adaptive" of the KL loss is true; the coefficient of a loss stays as it is given. Remove "adaptive", "targetKl" and "horizon".',
        { code: 'KL_ADAPTIVE' },
      );
    if (klCoef === 0) return undefined;
    const term: TermWithNeeds['term'] = ({ currentLogprobs, oldLogprobs, refLogprobs }, weights) => {
      if (!refLogprobs)
        throw new InvariantError(
          'The KL loss was given no log-probabilities of the reference; the algorithm declares that it needs them.',
          { code: 'REFERENCE_MISSING' },
        );
      const gradLogprobs = new Float64Array(weights.length);
      let sum = 0;
      for (let t = 0; t < weights.length; t++) {
        if (weights[t] === 0) continue;
        const { value, gradient } = estimate({
          current: currentLogprobs[t]!,
          reference: refLogprobs[t]!,
          old: rollouts ? oldLogprobs[t]! : undefined,
        });
        sum += weights[t]! * value;
        gradLogprobs[t] = klCoef * weights[t]! * gradient;
      }
      return { loss: klCoef * sum, gradLogprobs, metrics: { kl_loss: sum, kl_coef: klCoef } };
    };
    return { term, needs: { referenceLogprobs: true } };
  });
}

/** No term. Takes the arguments of the others, so that switching KL off needs one line. */
export const noKl: KlPart = definePart(args, () => undefined);
