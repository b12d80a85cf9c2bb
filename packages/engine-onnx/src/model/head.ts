/** The head: from hidden states to log-probabilities. */
import { dimAt, type Value } from '../onnx/graph.js';
import { multiply } from '../onnx/ops/elementwise.js';
import { matmul } from '../onnx/ops/matmul.js';
import { rmsNorm } from '../onnx/ops/norm.js';
import { takeRows } from '../onnx/ops/shape.js';
import type { Trunk } from './block.js';
import { headName } from './parameters.js';

export interface HeadInputs {
  /** Flat positions b * S + s whose logits are wanted; all when left out. int32 [R] */
  readonly rows?: Value;
  /** float32 [R, 1] */
  readonly inverseTemperature: Value;
  /** Way back from positions to rows, where gradients are wanted; see {@link takeRows}. int32 [B S] */
  readonly spread?: Value;
}

/**
 * Normalised hidden states of the wanted positions, divided by the temperature: scaling them costs less than scaling the
 * logits. `x` [B * S, d] -> [R, d]
 */
export function headStates(trunk: Trunk, x: Value, inputs: HeadInputs): Value {
  const picked = inputs.rows ? takeRows(x, inputs.rows, inputs.spread) : x;
  const normed = rmsNorm(picked, trunk.parameters.get('model.norm.weight')!, trunk.config.normEpsilon);
  return multiply(normed, inputs.inverseTemperature);
}

/** log softmax(states W^T). `states` [R, d] -> [R, V] */
export function headLogprobs(trunk: Trunk, states: Value): Value {
  const logits = matmul(states, headWeight(trunk), { transposeB: true });
  return states.graph.node('LogSoftmax', [logits], { shape: [dimAt(states, 0), trunk.config.vocabSize] }, { attributes: { axis: -1 } });
}

/** [V, d] */
export function headWeight(trunk: Trunk): Value {
  return trunk.parameters.get(headName(trunk.config))!;
}
