/**
 * The short convolution of a block. One linear layer computes b, c and u, and another one projects
 * c * convolution(b * u).
 */
import type { Value } from '../onnx/graph/graph.js';
import { causalConvolution } from '../onnx/ops/convolution.js';
import { multiply } from '../onnx/ops/elementwise.js';
import { columns } from '../onnx/ops/shape.js';
import { layerPrefix } from './parameters.js';
import { convolutionState } from './row-states.js';
import { parameterOf, projectNamed, type Trunk } from './trunk.js';

/** Applies the mixer to `h`. [B, S, d] -> [B, S, d] */
export function shortConvolution(trunk: Trunk, layer: number, h: Value): Value {
  const prefix = `${layerPrefix(layer)}conv.`;
  const width = trunk.config.hiddenSize;
  const all = projectNamed(trunk, h, `${prefix}in_proj`);
  const [b, c, u] = [0, 1, 2].map((part) => columns(all, part * width, width)) as [
    Value,
    Value,
    Value,
  ];
  const weight = parameterOf(trunk, `${prefix}conv.weight`);
  const mixed = trunk.recurrence(convolutionState(layer), [multiply(b, u)], ([x], past) =>
    causalConvolution(x!, weight, past),
  );
  return projectNamed(trunk, multiply(c, mixed), `${prefix}out_proj`);
}
