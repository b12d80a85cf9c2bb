/** A KL function: an estimator as a term of the loss, and as a penalty on rewards. */
import { booleanArg, numberArg, readArgs, type KlPenalty } from '@trinity-rft/core';
import type { Part, PartDoc, TermWithNeeds } from '../parts/part.js';
import type { KlEstimator } from './estimators.js';
import { klPenalty } from './kl-penalty.js';
import { klTerm } from './kl-term.js';

const args = {
  klCoef: numberArg(
    0.001,
    { min: 0 },
    'Coefficient of the divergence; with 0 the reference model does no work.',
  ),
  adaptive: booleanArg(
    false,
    'Steer the coefficient of the penalty towards target_kl; a loss has a constant one.',
  ),
  targetKl: numberArg(
    undefined,
    { above: 0 },
    'Divergence per token that an adaptive penalty aims at.',
  ),
  horizon: numberArg(
    undefined,
    { above: 0 },
    'Rows over which an adaptive penalty moves its coefficient by at most a fifth.',
  ),
};

/**
 * The term is undefined when there is nothing to compute: the reference model then does no work.
 */
export interface KlPart extends Part<
  TermWithNeeds | undefined,
  readonly [{ readonly rollouts: boolean }]
> {
  /**
   * The same as a penalty on rewards. Undefined for `none` and a coefficient of 0.
   * @throws ConfigError for unknown or wrong arguments
   */
  makePenalty(owner: string, given: object | undefined): KlPenalty | undefined;
}

export interface KlDefinition {
  readonly doc: PartDoc;
  /** Undefined: no divergence. */
  readonly estimator: KlEstimator | undefined;
  /**
   * Where there are no sampling log-probabilities: supervised data, and penalties, which look at
   * the sampling policy itself.
   */
  readonly withoutRatio?: KlEstimator;
}

/** A row of the table of KL functions: for `kl_loss_fn` and for `kl_penalty_fn`. */
export function klFunction({ doc, estimator, withoutRatio = estimator }: KlDefinition): KlPart {
  return {
    doc,
    args,
    make: (owner, given, { rollouts }) =>
      klTerm(rollouts ? estimator : withoutRatio, {
        ...readArgs(owner, args, given),
        owner,
        rollouts,
      }),
    makePenalty: (owner, given) =>
      klPenalty(withoutRatio, { ...readArgs(owner, args, given), owner }),
  };
}
