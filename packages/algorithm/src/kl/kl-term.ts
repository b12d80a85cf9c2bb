/** The KL loss: a coefficient times the aggregate of an estimator. */
import { ConfigError, InvariantError } from '@trinity-rft/core';
import type { LossPart, TokenLoss } from '../parts/token-loss.js';
import type { KlEstimator } from './estimators.js';

export interface KlTermOptions {
  /** Name of the KL function, used in error messages. */
  readonly owner: string;
  readonly klCoef: number;
  readonly adaptive: boolean;
}

/**
 * Makes the term loss = klCoef * agg(kl). Metrics: `kl_loss` = agg(kl), without the coefficient,
 * and `kl_coef`.
 */
export function klTerm(
  estimator: KlEstimator | undefined,
  { owner, klCoef, adaptive }: KlTermOptions,
): LossPart | undefined {
  if (adaptive)
    throw new ConfigError(
      `The argument "adaptive" of ${owner} is true; the coefficient of a loss stays as it is given. Remove "adaptive", "targetKl" and "horizon", or use kl_penalty_fn.`,
      { code: 'KL_ADAPTIVE' },
    );
  if (klCoef === 0 || !estimator) return undefined;
  const loss: TokenLoss = {
    lossMetric: 'kl_loss',
    tokenMeans: [],
    rowMeans: [],
    prepare: ({ refLogprobs }) => {
      if (refLogprobs) return;
      throw new InvariantError(
        'The KL loss was given no log-probabilities of the reference; the algorithm declares that it needs them.',
        { code: 'REFERENCE_MISSING' },
      );
    },
    token: estimator,
    metrics: () => ({ kl_coef: klCoef }),
  };
  return {
    needs: { referenceLogprobs: true },
    open: () => ({ terms: [{ loss, coefficient: klCoef }] }),
  };
}
