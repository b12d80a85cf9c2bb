/** The output head, which converts hidden states to log-probabilities. */
import { dimAt, type Value } from '../onnx/graph/graph.js';
import { multiply, softCap, softCapSlope } from '../onnx/ops/elementwise.js';
import { headName } from './parameters.js';
import { normalize, parameterOf, project, type Trunk } from './trunk.js';

/**
 * Applies the final norm. Also multiplies by `logitScale`, unless the head returns values. `x` [R,
 * d] -> [R, d]
 */
export function finalNorm(trunk: Pick<Trunk, 'config' | 'parameters'>, x: Value): Value {
  const { logitScale, head } = trunk.config;
  const normed = normalize(trunk, x, 'model.norm.weight');
  const isScaled = logitScale !== undefined && head !== 'value';
  return isScaled ? multiply(normed, x.graph.scalar(logitScale)) : normed;
}

/**
 * Returns the normalised hidden states, divided by the temperature unless the model caps logits.
 * Dividing states costs less than dividing logits. `x` [R, d], `inverseTemperature` [R, 1] -> [R,
 * d]
 */
export function headStates(
  trunk: Pick<Trunk, 'config' | 'parameters'>,
  x: Value,
  inverseTemperature: Value,
): Value {
  const normed = finalNorm(trunk, x);
  return trunk.config.logitCap === undefined ? multiply(normed, inverseTemperature) : normed;
}

/** Output of the head for hidden states. */
export interface Distribution {
  /** log softmax(logits) [R, V] */
  readonly logprobs: Value;
  /**
   * Elementwise derivative of the logits with respect to the product states W^T [R, V]; undefined
   * if it is 1 everywhere.
   */
  readonly slope?: Value;
}

/**
 * Computes the distribution over tokens. `states` [R, d] from {@link headStates},
 * `inverseTemperature` [R, 1]
 */
export function headDistribution(
  trunk: Trunk,
  states: Value,
  inverseTemperature: Value,
): Distribution {
  return distributionOf(trunk, project(trunk, states, headWeight(trunk)), inverseTemperature);
}

/** Returns the distribution for the `product` [R, V] of states and the head's weight. */
export function distributionOf(
  trunk: Pick<Trunk, 'config'>,
  product: Value,
  inverseTemperature: Value,
): Distribution {
  const { logits, slope } = headLogits(trunk, product, inverseTemperature);
  const logprobs = product.graph.node(
    'LogSoftmax',
    [logits],
    { shape: [dimAt(product, 0), trunk.config.vocabSize] },
    { attributes: { axis: -1 } },
  );
  return { logprobs, slope };
}

/**
 * Converts the product of hidden states and head weight to logits, for any part of the vocabulary.
 * If the model has a soft cap, applies the cap and then the temperature. Otherwise the product
 * already equals the logits.
 */
export function headLogits(
  { config: { logitCap } }: Pick<Trunk, 'config'>,
  product: Value,
  inverseTemperature: Value,
): { readonly logits: Value; readonly slope?: Value } {
  if (logitCap === undefined) return { logits: product };
  const capped = softCap(product, logitCap);
  return {
    logits: multiply(capped, inverseTemperature),
    slope: multiply(softCapSlope(capped, logitCap), inverseTemperature),
  };
}

/** Returns the weight of the head. [V, d] */
export function headWeight(trunk: Trunk): Value {
  return parameterOf(trunk, headName(trunk.config));
}
