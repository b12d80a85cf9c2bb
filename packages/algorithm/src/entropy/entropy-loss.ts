/** The entropy loss: a bonus for high entropy. */
import { numberArg, type LossInput, InvariantError } from '@trinity-rft/core';
import { definePart, type Part, type PartDoc } from '../parts/part.js';
import type { LossPart, TokenLoss } from '../parts/token-loss.js';

const args = {
  entropyCoef: numberArg(
    0,
    {},
    'Coefficient of the bonus. 0: entropy is only reported. Negative values reward certainty.',
  ),
};

export type EntropyPart = Part<LossPart | undefined>;

/**
 * Defines the entropy H of a token as a token loss, used for the metric and for the bonus. Metric
 * `entropy_loss` = agg(H).
 */
const entropyLoss: TokenLoss = {
  lossMetric: 'entropy_loss',
  tokenMeans: [],
  rowMeans: [],
  prepare: ({ entropy }) => {
    if (entropy) return;
    throw new InvariantError(
      'The entropy loss was given no entropies; the algorithm declares that it needs them.',
      { code: 'ENTROPY_MISSING' },
    );
  },
  token: ({ entropy: H }, out) => {
    out.loss = H;
    out.entropyGradient = 1;
  },
};

/**
 * Defines loss = -entropyCoef * agg(H). The metric is reported even if the coefficient is 0. With
 * `sampledRowsOnly`, agg covers only rows that the policy sampled (`expertMask` 0).
 */
export const entropyPart = (doc: PartDoc, sampledRowsOnly: boolean): EntropyPart =>
  definePart({
    args,
    doc,
    create: ({ entropyCoef }): LossPart => {
      const term = { loss: entropyLoss, coefficient: -entropyCoef };
      return {
        needs: {
          entropy: entropyCoef === 0 ? 'metric' : 'gradient',
          expertMask: sampledRowsOnly,
        },
        open: (input) => ({
          terms: [sampledRowsOnly ? { ...term, rows: sampledRows(input) } : term],
        }),
      };
    },
  });

/**
 * Entropy loss that contributes nothing, so that entropies need not be computed. Accepts the same
 * argument as the other entropy losses.
 */
export const noEntropy: EntropyPart = definePart({
  args,
  doc: {
    summary: 'No bonus, and no entropy is computed.',
    formula: '0',
  },
  create: () => undefined,
});

function sampledRows({ expertMask }: LossInput): Uint8Array {
  if (expertMask) return expertMask.map((expert) => 1 - expert);
  throw new InvariantError(
    'The entropy loss "mix" was given no expert mask; the algorithm declares that it needs one. Use sample_strategy "mix".',
    { code: 'EXPERT_MASK_MISSING' },
  );
}
