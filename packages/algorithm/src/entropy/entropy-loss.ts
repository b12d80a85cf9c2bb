/** The entropy term: a bonus for undecided policies. */
import { InvariantError, numberArg, type LossInput } from '@trinity-rft/core';
import { rowWeights } from '../parts/aggregate.js';
import { definePart, type Part, type PartDoc, type TermWithNeeds } from '../parts/part.js';
import { ofTokens, tokenTerm } from '../parts/token-term.js';

const args = {
  entropyCoef: numberArg(
    0,
    {},
    'Coefficient of the bonus. 0: entropy is only reported. Negative values reward certainty.',
  ),
};

export type EntropyPart = Part<TermWithNeeds | undefined>;

/**
 * loss = -entropyCoef * agg(H), dloss/dH = -entropyCoef * w. Metric `entropy_loss` = agg(H), also
 * where the coefficient is 0. With `sampledRowsOnly` agg goes over rows whose `expertMask` is 0.
 */
export function entropyPart(doc: PartDoc, sampledRowsOnly: boolean): EntropyPart {
  const create = ({ entropyCoef }: { readonly entropyCoef: number }): TermWithNeeds => {
    const tokens = tokenTerm({
      coefficient: -entropyCoef,
      by: entropyCoef === 0 ? 'nothing' : 'entropy',
      open: (input, { mode, norm }) => {
        if (input.entropy)
          return sampledRowsOnly
            ? rowWeights(input, mode, { norm, rows: sampledRows(input) })
            : undefined;
        throw new InvariantError(
          'The entropy loss was given no entropies; the algorithm declares that it needs them.',
          {
            code: 'ENTROPY_MISSING',
          },
        );
      },
      weights: (weights) => weights,
      visit: ({ entropy, value, gradient }) => {
        value.set(entropy);
        gradient.fill(1);
      },
      metrics: (loss) => ({ entropy_loss: loss }),
    });
    return ofTokens(tokens, {
      entropy: entropyCoef !== 0 ? 'gradient' : 'value',
      ...(sampledRowsOnly && { expertMask: true }),
    });
  };
  return definePart(args, create, doc);
}

/** No term, and no entropy is computed. Takes the argument of the others. */
export const noEntropy: EntropyPart = definePart(args, () => undefined, {
  summary: 'No bonus, and no entropy is computed.',
  formula: '0',
});

function sampledRows({ expertMask }: LossInput): Uint8Array {
  if (expertMask) return expertMask.map((expert) => 1 - expert);
  throw new InvariantError(
    'The entropy loss "mix" was given no expert mask; the algorithm declares that it needs one. Use sample_strategy "mix".',
    {
      code: 'EXPERT_MASK_MISSING',
    },
  );
}
