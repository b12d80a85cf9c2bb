/** The KL loss: a coefficient times the aggregate of an estimator. */
import { ConfigError, InvariantError } from '@trinity-rft/core';
import type { TermWithNeeds } from '../parts/part.js';
import { ofTokens, tokenTerm } from '../parts/token-term.js';
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
  const tokens = tokenTerm({
    coefficient: klCoef,
    open: ({ refLogprobs }) => {
      if (refLogprobs) return;
      throw new InvariantError(
        'The KL loss was given no log-probabilities of the reference; the algorithm declares that it needs them.',
        {
          code: 'REFERENCE_MISSING',
        },
      );
    },
    visit: estimator,
    metrics: (loss) => ({ kl_loss: loss, kl_coef: klCoef }),
  });
  return ofTokens(tokens, { referenceLogprobs: true, rollouts });
}
