/** The head: from hidden states to log-probabilities. */
import { dimAt, type Value } from '../onnx/graph/graph.js';
import { multiply, softCap, softCapSlope } from '../onnx/ops/elementwise.js';
import { headName } from './parameters.js';
import { normalize, parameterOf, project, type Trunk } from './trunk.js';

/** The final norm. `x` [R, d] -> [R, d] */
export function finalNorm(trunk: Trunk, x: Value): Value {
  return normalize(trunk, x, 'model.norm.weight');
}

/**
 * Normalised hidden states. Divided by the temperature, which costs less than dividing the logits,
 * unless these are capped first. `x` [R, d], `inverseTemperature` [R, 1] -> [R, d]
 */
export function headStates(trunk: Trunk, x: Value, inverseTemperature: Value): Value {
  const normed = finalNorm(trunk, x);
  return trunk.config.logitCap === undefined ? multiply(normed, inverseTemperature) : normed;
}

/** What the head makes of hidden states. */
export interface Distribution {
  /** log softmax(logits) [R, V] */
  readonly logprobs: Value;
  /** dlogits / d(states W^T) [R, V]; undefined if it is 1. */
  readonly slope?: Value;
}

/** `states` [R, d] of {@link headStates}, `inverseTemperature` [R, 1] */
export function headDistribution(
  trunk: Trunk,
  states: Value,
  inverseTemperature: Value,
): Distribution {
  const { vocabSize, logitCap } = trunk.config;
  const plain = project(trunk, states, headWeight(trunk));
  const capped = logitCap === undefined ? undefined : softCap(plain, logitCap);
  const logits = capped ? multiply(capped, inverseTemperature) : plain;
  const logprobs = states.graph.node(
    'LogSoftmax',
    [logits],
    { shape: [dimAt(states, 0), vocabSize] },
    { attributes: { axis: -1 } },
  );
  if (capped === undefined || logitCap === undefined) return { logprobs };
  return { logprobs, slope: multiply(softCapSlope(capped, logitCap), inverseTemperature) };
}

/** [V, d] */
export function headWeight(trunk: Trunk): Value {
  return parameterOf(trunk, headName(trunk.config));
}
