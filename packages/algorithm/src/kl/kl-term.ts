/** The KL loss: a coefficient times the aggregate of an estimator. */
import { ConfigError, InvariantError } from '@trinity-rft/core';
import { trainedTokens } from '../aggregate.js';
import type { TermWithNeeds } from '../part.js';
import { blockSize, createBlock, type KlEstimator } from './estimators.js';

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
    const gradLogprobs = new Float32Array(weights.length);
    const [trained, block] = [trainedTokens(actionMask), createBlock()];
    let sum = 0;
    for (let start = 0; start < trained.length; start += blockSize) {
      const at = trained.subarray(start, start + blockSize);
      block.size = at.length;
      for (let i = 0; i < at.length; i++) {
        const current = currentLogprobs[at[i]!]!;
        block.a[i] = refLogprobs[at[i]!]! - current;
        block.d[i] = rollouts ? current - oldLogprobs[at[i]!]! : 0;
      }
      estimator(block);
      for (let i = 0; i < at.length; i++) {
        const weight = weights[at[i]!]!;
        sum += weight * block.value[i]!;
        gradLogprobs[at[i]!] = klCoef * weight * block.gradient[i]!;
      }
    }
    return { loss: klCoef * sum, gradLogprobs, metrics: { kl_loss: sum, kl_coef: klCoef } };
  };
  return { term, needs: { referenceLogprobs: true } };
}
