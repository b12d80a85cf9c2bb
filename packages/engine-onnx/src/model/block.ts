/**
 * The decoder block of every family, and the stack of blocks. Graphs differ only in the inputs of
 * attention and recurrence.
 */
import type { Value } from '../onnx/graph/graph.js';
import { add, multiply } from '../onnx/ops/elementwise.js';
import { attend } from './attend.js';
import { layerTraits, type Mixer } from './config.js';
import { deltaMixer } from './delta-mixer.js';
import { feedForward } from './feed-forward.js';
import { layerPrefix, normNames, type BranchNorms } from './parameters.js';
import { shortConvolution } from './short-convolution.js';
import { normalize, type Trunk } from './trunk.js';

/**
 * Applies all blocks in sequence, without the final norm. `x` holds rows of the embedding matrix.
 * [B, S, d] -> [B, S, d]
 */
export function decoder(trunk: Trunk, x: Value): Value {
  const { embeddingScale, layers } = trunk.config;
  let state = embeddingScale ? multiply(x, x.graph.scalar(embeddingScale)) : x;
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
  return branch(trunk, layer, mixed, mlp, (h) => feedForward(trunk, layer, h));
}

/**
 * Residual branch: x + residualScale * after(f(before(x))). A norm that is not given is omitted.
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
