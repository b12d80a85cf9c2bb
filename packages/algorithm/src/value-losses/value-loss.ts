/** Loss of a critic: the squared error, clipped around the critic's earlier values. */
import { numberArg } from '@trinity-rft/core';
import type { ValueLossFn } from '@trinity-rft/core/internal';
import { aggregationWeights, meanOf } from '../parts/aggregate.js';
import { checkValueLossInput } from '../parts/check-input.js';
import { definePart } from '../parts/part.js';

const args = {
  cliprangeValue: numberArg(
    0.5,
    { min: 0 },
    'A value gains nothing by moving further than this from the one that the advantages were computed from.',
  ),
};

/**
 * Computes l = max((V - R)^2, (clip(V, V_old - c, V_old + c) - R)^2) / 2, aggregated as token-mean,
 * where V are values and R returns.
 *
 * Gradients at ties are those of automatic differentiation, as in Trinity-RFT: where both arguments
 * of the max, or of one side of the clip, are equal, each gets half of the gradient. For c = 0, the
 * gradient at V = V_old is therefore 0.625 of the true gradient. For c > 0, both branches are equal
 * there.
 *
 * Metrics `vf_loss`, `vf_clipfrac` (share of tokens whose clipped branch is larger), `vpred_mean`.
 * @see PPO2 of OpenAI baselines; arXiv:1707.06347
 */
export const valueLoss = definePart({
  args,
  doc: {
    summary: 'Clipped squared error of the critic.',
    formula: 'l = max((V - R)^2, (clip(V, V_old - c, V_old + c) - R)^2) / 2',
  },
  create:
    ({ cliprangeValue }): ValueLossFn =>
    (input) => {
      const range = Math.fround(cliprangeValue);
      checkValueLossInput(input);
      const { actionMask, values, oldValues, returns } = input;
      const weights = aggregationWeights(input, 'token-mean');
      const gradValues = new Float32Array(weights.length);
      let [trained, loss, clipped, valueSum] = [0, 0, 0, 0];
      for (let t = 0; t < actionMask.length; t++) {
        if (actionMask[t] === 0) continue;
        trained++;
        const [value, target, weight] = [values[t]!, returns[t]!, weights[t]!];
        // Computed in float32, so that ties are the same as in Trinity-RFT.
        const [low, high] = [
          Math.fround(oldValues[t]! - range),
          Math.fround(oldValues[t]! + range),
        ];
        const lowered = Math.min(value, high);
        const free = value - target;
        const bounded = Math.max(lowered, low) - target;
        const flow = flowOf(high - value) * flowOf(lowered - low);
        const share = flowOf(free * free - bounded * bounded);
        loss += (weight * Math.max(free * free, bounded * bounded)) / 2;
        gradValues[t] = weight * (share * free + (1 - share) * flow * bounded);
        if (bounded * bounded > free * free) clipped++;
        valueSum += value;
      }
      const mean = (sum: number): number => meanOf(sum, trained);
      const metrics = { vf_loss: loss, vf_clipfrac: mean(clipped), vpred_mean: mean(valueSum) };
      return { loss, gradValues, metrics };
    },
});

/**
 * Returns the share of the gradient that the first argument of a maximum gets: 1, 0, or 1/2 at a
 * tie. `lead` is the first argument minus the second.
 */
const flowOf = (lead: number): number => (lead > 0 ? 1 : lead < 0 ? 0 : 0.5);
