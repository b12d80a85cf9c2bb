/**
 * Per-layer embeddings of Gemma 4: inputs of every layer that depend on the token and its
 * embedding.
 */
import type { Value } from '../onnx/graph/graph.js';
import { add, multiply } from '../onnx/ops/elementwise.js';
import { columns, reshape } from '../onnx/ops/shape.js';
import { gatedUnit } from './feed-forward.js';
import { layerPrefix, perLayerNames } from './parameters.js';
import { normalize, projectNamed, type Trunk } from './trunk.js';

/**
 * Returns the per-layer input of every layer: (a + b) / sqrt(2), where a is the normalised
 * projection of the token's embedding, and b is the token's scaled row of the per-layer embedding
 * table. `x` scaled embeddings [B, S, d], `rows` [B, S, L P] -> L times [B, S, P]
 */
export function perLayerInputs(trunk: Trunk, x: Value, rows: Value): readonly Value[] {
  const { hiddenSize, layers, perLayerInputs: { size = 1 } = {} } = trunk.config;
  const scaled = (value: Value, by: number): Value => multiply(value, value.graph.scalar(by));
  const projected = scaled(projectNamed(trunk, x, perLayerNames.projection), hiddenSize ** -0.5);
  const grid = [...rows.shape.slice(0, 2), layers, size];
  const normed = normalize(trunk, reshape(projected, grid), perLayerNames.norm);
  const both = add(normed, reshape(scaled(rows, Math.sqrt(size)), grid));
  const flat = reshape(scaled(both, Math.SQRT1_2), rows.shape);
  return Array.from({ length: layers }, (_, layer) => columns(flat, layer * size, size));
}

/**
 * Multiplies a layer's per-layer input by a gate that is computed from `h`, and projects the
 * product. [B, S, d] -> [B, S, d]
 */
export function gatedInput(trunk: Trunk, layer: number, h: Value, input: Value): Value {
  const gate = projectNamed(trunk, h, `${layerPrefix(layer)}per_layer_input_gate`);
  const product = gatedUnit(trunk.config, gate, input);
  return projectNamed(trunk, product, `${layerPrefix(layer)}per_layer_projection`);
}
