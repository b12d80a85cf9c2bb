/** The objective of an algorithm: the sum of its terms, checked and aggregated once. */
import type { AlgorithmNeeds, LossInput, LossOutput, Metrics, PolicyLossFn } from '@trinity-rft/core';
import { aggregationWeights, type Aggregation } from './aggregate.js';
import { checkLossInput, type LossField } from './check-input.js';
import type { LossTerm, TermOutput } from './part.js';

/** Adds terms, their gradients and their metrics; `final_loss` is the sum. */
export function objective(terms: readonly LossTerm[], aggregation: Aggregation, needs: AlgorithmNeeds): PolicyLossFn {
  const fields = fieldsOf(needs);
  return (input: LossInput): LossOutput => {
    checkLossInput(input, fields);
    const weights = aggregationWeights(input, aggregation.mode, { norm: aggregation.norm });
    const outputs = terms.map((term) => term(input, weights, aggregation));
    const loss = outputs.reduce((sum, output) => sum + output.loss, 0);
    return {
      loss,
      gradLogprobs: sum(outputs, 'gradLogprobs', weights.length),
      ...(needs.entropy === 'gradient' && { gradEntropy: sum(outputs, 'gradEntropy', weights.length) }),
      metrics: Object.assign({}, ...outputs.map(({ metrics }) => metrics), { final_loss: loss }) as Metrics,
    };
  };
}

function fieldsOf(needs: AlgorithmNeeds): readonly LossField[] {
  return [
    'currentLogprobs',
    ...(needs.rollouts ? (['oldLogprobs', 'advantages'] as const) : []),
    ...(needs.referenceLogprobs ? (['refLogprobs'] as const) : []),
    ...(needs.entropy === 'none' ? [] : (['entropy'] as const)),
  ];
}

type Gradient = Float32Array | Float64Array;

/** What terms return belongs to the batch: the first gradient becomes the sum. [N] */
function sum(outputs: readonly TermOutput[], field: 'gradLogprobs' | 'gradEntropy', size: number): Float32Array {
  const [first, ...others] = outputs.map((output) => output[field]).filter((array) => array !== undefined);
  if (!first) return new Float32Array(size);
  const total = first instanceof Float32Array ? first : new Float32Array(first);
  for (const other of others) add(total, other);
  return total;
}

function add(total: Float32Array, other: Gradient): void {
  for (let t = 0; t < total.length; t++) total[t]! += other[t]!;
}
