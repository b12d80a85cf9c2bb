/** The objective of an algorithm: the sum of its terms, checked and aggregated once. */
import type {
  AlgorithmNeeds,
  LossInput,
  LossOutput,
  Metrics,
  PolicyLossFn,
} from '@trinity-rft/core';
import { aggregationWeights, rowWeights, type Aggregation } from './aggregate.js';
import { checkLossInput, checkLossShapes, type LossField } from './check-input.js';
import type { LossTerm, TermOutput, TermWithNeeds } from './part.js';
import { addTerms, type Pass } from './token-term.js';

/** Adds terms, their gradients and their metrics; `final_loss` is the sum. */
export function objective(
  parts: readonly TermWithNeeds[],
  aggregation: Aggregation,
  needs: AlgorithmNeeds,
): PolicyLossFn {
  const fields = fieldsOf(needs);
  const whole = parts.filter(({ tokens }) => !tokens).map(({ term }) => term);
  const formulas = parts.flatMap(({ tokens }) => tokens ?? []);
  return (input: LossInput): LossOutput => {
    if (whole.length > 0) checkLossInput(input, fields);
    else checkLossShapes(input, fields);
    const ofBatch = ofWholeBatch(whole, input, aggregation);
    const size = input.actionMask.length;
    const gradients = {
      currentLogprobs: sum(ofBatch, 'gradLogprobs', size),
      ...(needs.entropy === 'gradient' && { entropy: sum(ofBatch, 'gradEntropy', size) }),
    };
    const values = rowWeights(input, aggregation.mode, { norm: aggregation.norm });
    const refuse = (): void => checkLossInput(input, fields);
    const pass: Pass = { needs, refuse, weights: { aggregation, values, per: 'row' }, gradients };
    const outputs = [...ofBatch, ...addTerms(input, formulas, pass)];
    const loss = outputs.reduce((total, output) => total + output.loss, 0);
    return {
      loss,
      gradLogprobs: gradients.currentLogprobs,
      ...(gradients.entropy && { gradEntropy: gradients.entropy }),
      metrics: Object.assign({}, ...outputs.map(({ metrics }) => metrics), {
        final_loss: loss,
      }) as Metrics,
    };
  };
}

function ofWholeBatch(
  terms: readonly LossTerm[],
  input: LossInput,
  aggregation: Aggregation,
): readonly TermOutput[] {
  if (terms.length === 0) return [];
  const weights = aggregationWeights(input, aggregation.mode, { norm: aggregation.norm });
  return terms.map((term) => term(input, weights, aggregation));
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
function sum(
  outputs: readonly TermOutput[],
  field: 'gradLogprobs' | 'gradEntropy',
  size: number,
): Float32Array {
  const [first, ...others] = outputs
    .map((output) => output[field])
    .filter((array) => array !== undefined);
  if (!first) return new Float32Array(size);
  const total = first instanceof Float32Array ? first : new Float32Array(first);
  for (const other of others) add(total, other);
  return total;
}

function add(total: Float32Array, other: Gradient): void {
  for (let t = 0; t < total.length; t++) total[t]! += other[t]!;
}
