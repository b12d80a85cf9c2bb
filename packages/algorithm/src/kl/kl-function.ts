/**
 * KL functions. Each one makes a divergence estimator available as a loss term and as a penalty on
 * rewards.
 */
import { booleanArg, numberArg, onlyWith, type Arg } from '@trinity-rft/core';
import type { KlPenalty } from '@trinity-rft/core/internal';
import { readArgs } from '@trinity-rft/core/support';
import type { Part, PartDoc } from '../parts/part.js';
import type { LossPart } from '../parts/token-loss.js';
import type { KlEstimator } from './estimators.js';
import { klPenalty } from './kl-penalty.js';
import { klTerm } from './kl-term.js';

const whenAdaptive = <T>(arg: Arg<T>): Arg<T> =>
  onlyWith('adaptive: true', ({ adaptive }) => adaptive === true, arg);

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
  targetKl: whenAdaptive(
    numberArg(undefined, { above: 0 }, 'Divergence per token that an adaptive penalty aims at.'),
  ),
  horizon: whenAdaptive(
    numberArg(
      undefined,
      { above: 0 },
      'Rows over which an adaptive penalty moves its coefficient by at most a fifth.',
    ),
  ),
};

/**
 * A KL function. `make` returns undefined if the function contributes nothing, so that no reference
 * model is needed.
 */
export interface KlPart extends Part<LossPart | undefined> {
  /**
   * Reason why the gradient of this function as a loss term differs from the gradient of the
   * divergence.
   */
  readonly lossCaution?: string;
  /**
   * Makes the penalty on rewards. Returns undefined for `none` and for a coefficient of 0.
   * @throws ConfigError for unknown or wrong arguments
   */
  makePenalty(owner: string, given: object | undefined): KlPenalty | undefined;
}

/** Makes an entry of the table of KL functions, for `kl_loss_fn` and `kl_penalty_fn`. */
export function klFunction(doc: PartDoc, estimator?: KlEstimator, lossCaution?: string): KlPart {
  return {
    doc,
    args,
    lossCaution,
    make: (owner, given) => klTerm(estimator, { ...readArgs(owner, args, given), owner }),
    makePenalty: (owner, given) => klPenalty(estimator, { ...readArgs(owner, args, given), owner }),
  };
}
