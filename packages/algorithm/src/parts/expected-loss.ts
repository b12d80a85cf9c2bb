import type { Algorithm } from '@trinity-rft/core/internal';
import { aggregationWeights, type Aggregation } from './aggregate.js';
import type { LossPart } from './token-loss.js';

/**
 * Describes the loss of an algorithm in a form that engines can compute themselves. Returns
 * undefined if the objective is a sum of several losses, or if its loss has no such form.
 */
export function expectedLoss(
  parts: readonly LossPart[],
  aggregation: Aggregation,
): Algorithm['expectedLoss'] {
  const [known, ...others] = parts.map((part) => part.known);
  if (known === undefined || others.length > 0) return undefined;
  const { advantage = (A: number): number => A, mode = aggregation.mode, ...form } = known;
  return (input) => {
    const weights = aggregationWeights(input, mode, { norm: aggregation.norm });
    const { advantages, oldLogprobs } = input;
    return {
      ...form,
      oldLogprobs,
      advantages: Float32Array.from(weights, (weight, t) =>
        weight === 0 ? 0 : weight * advantage(advantages[t]!),
      ),
    };
  };
}
