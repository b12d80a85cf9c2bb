/**
 * The decoder block of every family, and the stack of blocks. Graphs for training, prefill and
 * decoding differ only in the inputs of attention and recurrence.
 */
import { withPullback, type Value } from '../onnx/graph/graph.js';
import { add, multiply } from '../onnx/ops/elementwise.js';
import { attend } from './attend.js';
import { layerTraits, type Mixer } from './config.js';
import { deltaMixer } from './delta-mixer.js';
import { feedForward } from './feed-forward.js';
import { layerPrefix, normNames, type BranchNorms } from './parameters.js';
import { gatedInput, perLayerInputs } from './per-layer-inputs.js';
import { shortConvolution } from './short-convolution.js';
import { normalize, parameterOf, type Embedded, type KeyValues, type Trunk } from './trunk.js';

/** Applies all blocks in sequence, without the final norm. -> [B, S, d] */
export function decoder(given: Trunk, { x, perLayer }: Embedded): Value {
  const { embeddingScale, layers } = given.config;
  let state = embeddingScale ? multiply(x, x.graph.scalar(embeddingScale)) : x;
  const inputs = perLayer && perLayerInputs(given, state, perLayer);
  const layerInput = inputs && ((layer: number) => inputs[layer]!);
  const trunk = { ...given, keyValues: new Map<number, KeyValues>(), layerInput };
  for (let layer = 0; layer < layers; layer++) state = block(trunk, layer, state);
  return state;
}

const mixers: Readonly<Record<Mixer, (trunk: Trunk, layer: number, h: Value) => Value>> = {
  attention: attend,
  conv: shortConvolution,
  delta: deltaMixer,
};

export function block(trunk: Trunk, layer: number, x: Value): Value {
  const mix = mixers[layerTraits(trunk.config, layer).mixer ?? 'attention'];
  const { attention, feedForward: mlp } = normNames[trunk.config.norms ?? 'before'];
  const mixed = branch(trunk, layer, x, attention, (h) => mix(trunk, layer, h));
  const fed = branch(trunk, layer, mixed, mlp, (h) => feedForward(trunk, layer, h));
  const input = trunk.layerInput?.(layer);
  const after = 'post_per_layer_input_norm';
  const y = input
    ? branch(trunk, layer, fed, { after }, (h) => gatedInput(trunk, layer, h, input))
    : fed;
  return trunk.config.layerScalar ? scaled(trunk, layer, y) : y;
}

/**
 * Multiplies by the scalar that is stored for a layer. The scalar is never trained: its gradient is
 * 0.
 */
function scaled(trunk: Trunk, layer: number, x: Value): Value {
  const scalar = parameterOf(trunk, `${layerPrefix(layer)}layer_scalar`);
  return withPullback(multiply(x, scalar), [x, scalar], (g) => [
    multiply(g, scalar),
    multiply(scalar, x.graph.scalar(0)),
  ]);
}

/**
 * Applies a residual branch: x + residualScale * after(f(before(x))). A norm that is not given is
 * omitted.
 */
function branch(
  trunk: Trunk,
  layer: number,
  x: Value,
  { before, after }: BranchNorms,
  f: (h: Value) => Value,
): Value {
  const norm = (value: Value, name: string | undefined): Value =>
    name === undefined ? value : normalize(trunk, value, `${layerPrefix(layer)}${name}.weight`);
  const { residualScale } = trunk.config;
  const added = norm(f(norm(x, before)), after);
  return add(x, residualScale ? multiply(added, x.graph.scalar(residualScale)) : added);
}
