/** The head: from hidden states to log-probabilities. */
import { dimAt, type Value } from '../onnx/graph/graph.js';
import { multiply } from '../onnx/ops/elementwise.js';
import { rmsNorm } from '../onnx/ops/norm.js';
import { parameterOf, project, type Trunk } from './block.js';
import { headName } from './parameters.js';

/**
 * Normalised hidden states divided by the temperature, which costs less than dividing the logits. `x` [R, d], `inverseTemperature` [R, 1] -> [R, d]
 */
export function headStates(trunk: Trunk, x: Value, inverseTemperature: Value): Value {
  const weight = parameterOf(trunk, 'model.norm.weight');
  const normed = rmsNorm(x, weight, trunk.config.normEpsilon);
  return multiply(normed, inverseTemperature);
}

/** log softmax(states W^T). `states` [R, d] -> [R, V] */
export function headLogprobs(trunk: Trunk, states: Value): Value {
  const logits = project(trunk, states, headWeight(trunk));
  return states.graph.node(
    'LogSoftmax',
    [logits],
    { shape: [dimAt(states, 0), trunk.config.vocabSize] },
    { attributes: { axis: -1 } },
  );
}

/** [V, d] */
export function headWeight(trunk: Trunk): Value {
  return parameterOf(trunk, headName(trunk.config));
}
