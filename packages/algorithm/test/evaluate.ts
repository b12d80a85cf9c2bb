/** Evaluates one loss on one batch, without the rest of an objective. */
import type { AlgorithmNeeds, LossInput, LossOutput } from '@trinity-rft/core';
import type { Aggregation } from '../src/parts/aggregate.js';
import { evaluateParts } from '../src/parts/objective.js';
import type { LossPart } from '../src/parts/token-loss.js';

export interface EvaluateOptions extends Partial<Aggregation> {
  /** Weight of the tokens of each row. [B] @default weights of the aggregation */
  readonly weights?: Float64Array | undefined;
  /** Quantities to read in addition to those that the loss declares. */
  readonly needs?: Partial<AlgorithmNeeds>;
}

export function evaluate(
  part: LossPart,
  input: LossInput,
  { mode = 'token-mean', norm, weights, needs }: EvaluateOptions = {},
): LossOutput {
  return evaluateParts([part], input, {
    aggregation: { mode, norm },
    needs: { ...part.needs, ...needs },
    weights,
  });
}
