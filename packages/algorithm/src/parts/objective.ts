/**
 * The objective of an algorithm, which is the sum of its losses. Inputs are checked and losses
 * aggregated once.
 */
import type {
  AlgorithmNeeds,
  LossInput,
  LossOutput,
  Metrics,
  PolicyLossFn,
} from '@trinity-rft/core';
import { rowWeights, type Aggregation } from './aggregate.js';
import { checkLossInput, type LossField } from './check-input.js';
import { evaluateTerms } from './evaluate-terms.js';
import type { BatchLoss, LossPart, OpenLoss, TermResult } from './token-loss.js';

/**
 * Makes a loss function that adds up losses, their gradients and their metrics. The metric
 * `final_loss` is the sum.
 */
export function objective(
  parts: readonly LossPart[],
  aggregation: Aggregation,
  needs: AlgorithmNeeds,
): PolicyLossFn {
  const fields = fieldsOf(needs);
  return (input) => {
    checkLossInput(input, fields);
    const output = evaluateParts(parts, input, { aggregation, needs });
    return { ...output, metrics: { ...output.metrics, final_loss: output.loss } };
  };
}

export interface EvaluatePartsOptions {
  readonly aggregation: Aggregation;
  /**
   * Quantities that the parts read. Also determines whether gradients of the entropy are computed.
   */
  readonly needs: Partial<AlgorithmNeeds>;
  /** Weight of each row's tokens. [B] @default the weights that `aggregation` gives */
  readonly weights?: Float64Array;
}

/**
 * Computes the sum of the parts, with gradients and metrics, for a batch that has already been
 * checked.
 */
export function evaluateParts(
  parts: readonly LossPart[],
  input: LossInput,
  { aggregation, needs, weights }: EvaluatePartsOptions,
): LossOutput {
  const size = input.actionMask.length;
  const gradLogprobs = new Float32Array(size);
  const gradEntropy = needs.entropy === 'gradient' ? new Float32Array(size) : undefined;
  const opened = parts.map((part) => part.open(input, aggregation));
  const terms = opened.flatMap((part) => part.terms);
  const results = evaluateTerms(input, terms, {
    needs,
    aggregation,
    weights: weights ?? rowWeights(input, aggregation.mode, { norm: aggregation.norm }),
    gradLogprobs,
    gradEntropy,
  });
  let loss = 0;
  let metrics: Metrics = {};
  let first = 0;
  for (const part of opened) {
    const own = results.slice(first, (first += part.terms.length));
    loss += lossOf(part, own);
    metrics = { ...metrics, ...metricsOf(part, own) };
    if (part.whole) addTo(gradLogprobs, part.whole.gradLogprobs);
  }
  return { loss, gradLogprobs, gradEntropy, metrics };
}

const lossOf = ({ terms, whole }: OpenLoss, results: readonly TermResult[]): number =>
  terms.reduce(
    (sum, { coefficient = 1 }, k) => sum + coefficient * results[k]!.loss,
    whole?.loss ?? 0,
  );

function metricsOf({ whole, metrics }: OpenLoss, results: readonly TermResult[]): Metrics {
  if (metrics) return metrics(results);
  return Object.assign(
    { ...whole?.metrics },
    ...results.map((result) => result.metrics),
  ) as Metrics;
}

function addTo(total: Float32Array, values: BatchLoss['gradLogprobs']): void {
  for (const [t, value] of values.entries()) total[t]! += value;
}

function fieldsOf(needs: AlgorithmNeeds): readonly LossField[] {
  return [
    'currentLogprobs',
    ...(needs.rollouts ? (['oldLogprobs', 'advantages'] as const) : []),
    ...(needs.referenceLogprobs ? (['refLogprobs'] as const) : []),
    ...(needs.entropy === 'none' ? [] : (['entropy'] as const)),
  ];
}
