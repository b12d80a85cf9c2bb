/** The entropy term: a bonus for undecided policies. */
import { InvariantError, numberArg } from '@trinity-rft/core';
import { aggregateLoss } from '../aggregate.js';
import { definePart, type Part, type TermWithNeeds } from '../part.js';

/** Negative values reward certainty. */
const args = { entropyCoef: numberArg(0) };

export type EntropyPart = Part<TermWithNeeds | undefined>;

/** loss = -entropyCoef * agg(H), dloss/dH = -entropyCoef * w. Metric `entropy_loss` = agg(H), also where the coefficient is 0. */
export const entropyBonus: EntropyPart = definePart(args, ({ entropyCoef }): TermWithNeeds => {
  const term: TermWithNeeds['term'] = ({ entropy }, weights) => {
    if (!entropy)
      throw new InvariantError('The entropy loss was given no entropies; the algorithm declares that it needs them.', {
        code: 'ENTROPY_MISSING',
      });
    const mean = aggregateLoss(entropy, weights);
    return {
      loss: -entropyCoef * mean,
      metrics: { entropy_loss: mean },
      ...(entropyCoef !== 0 && { gradEntropy: weights.map((weight) => -entropyCoef * weight) }),
    };
  };
  return { term, needs: { entropy: entropyCoef !== 0 ? 'gradient' : 'value' } };
});

/** No term, and no entropy is computed. Takes the argument of the other. */
export const noEntropy: EntropyPart = definePart(args, () => undefined);
