/** The head: from hidden states to log-probabilities. */
import { dimAt, type Value } from '../onnx/graph/graph.js';
import { multiply } from '../onnx/ops/elementwise.js';
import { rmsNorm } from '../onnx/ops/norm.js';
import { project, type Trunk } from './block.js';
import { headName } from './parameters.js';

/**
 * Normalised hidden states, divided by the temperature: scaling them costs less than scaling the
 * logits. `x` [R, d], `inverseTemperature` [R, 1] -> [R, d]
 */
export function headStates(trunk: Trunk, x: Value, inverseTemperature: Value): Value {
  const normed = rmsNorm(x, trunk.parameters.get('model.norm.weight')!, trunk.config.normEpsilon);
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
  return trunk.parameters.get(headName(trunk.config))!;
}
