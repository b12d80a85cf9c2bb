/** The decoder block of every family, and the stack of blocks. Graphs differ only in their attention. */
import { InvariantError } from '@trinity-rft/core/internal';
import type { Graph, Value } from '../onnx/graph/graph.js';
import { add, swiglu } from '../onnx/ops/elementwise.js';
import { linear, linearInParts, lowRankLinear, type LowRank } from '../onnx/ops/matmul.js';
import { rmsNorm } from '../onnx/ops/norm.js';
import { rotary, type RotaryTables } from '../onnx/ops/rotary.js';
import { gather, reshape, swapHeads } from '../onnx/ops/shape.js';
import type { Agreement } from './column-parts.js';
import type { ModelConfig } from './config.js';
import { embeddingName, layerPrefix, parameterSpecs } from './parameters.js';

/**
 * Mixes the values of a sequence. `q` [B, H, S, D], `k` and `v` [B, KV, S, D], rotated -> [B, S, H,
 * D]. Training, prefill and decoding differ only in what the keys belong to: the sequence itself, or
 * a cache.
 */
export type Attention = (layer: number, q: Value, k: Value, v: Value) => Value;

/** What the blocks of one graph share. */
export interface Trunk {
  readonly config: ModelConfig;
  /** Parameters by Hugging Face name. */
  readonly parameters: ReadonlyMap<string, Value>;
  /** int64, as {@link rotary} needs them. */
  readonly positions: Value;
  readonly tables: RotaryTables;
  readonly attention: Attention;
  /**
   * Column parts in which a linear layer is computed, see {@link Agreement}; they have no gradient.
   * @default one part
   */
  readonly parts?: Agreement['parts'];
  /** Low-rank factors by the weight that they are trained for, which already contains them. @default none */
  readonly adapters?: ReadonlyMap<Value, LowRank>;
}

/** @throws InvariantError when the model has no parameter of this name */
export function parameterOf({ parameters }: Pick<Trunk, 'parameters'>, name: string): Value {
  const value = parameters.get(name);
  if (value) return value;
  throw new InvariantError(`The model has no parameter ${name}.`);
}

/** Adds a graph input for every parameter. */
export function parameterInputs(graph: Graph, config: ModelConfig): ReadonlyMap<string, Value> {
  return new Map(
    parameterSpecs(config).map((spec) => [
      spec.name,
      graph.input(spec.name, 'float32', spec.shape),
    ]),
  );
}

/**
 * Adds the inputs `rope_cos` and `rope_sin`, [P, D / 2] with P at least the largest position plus
 * one.
 */
export function tableInputs(graph: Graph, config: ModelConfig): RotaryTables {
  const shape = ['P', config.headDim / 2];
  return {
    cos: graph.input('rope_cos', 'float32', shape),
    sin: graph.input('rope_sin', 'float32', shape),
  };
}

/** Rows of the embedding matrix. `ids` [B, S] -> [B, S, d] */
export function embed(trunk: Trunk, ids: Value): Value {
  return gather(parameterOf(trunk, embeddingName), ids);
}

/** All blocks in sequence, without the final norm. `x` [B, S, d] -> [B, S, d] */
export function decoder(trunk: Trunk, x: Value): Value {
  let state = x;
  for (let layer = 0; layer < trunk.config.layers; layer++) state = block(trunk, layer, state);
  return state;
}

/**
 * A linear layer, in parts if the trunk has them. `x` [..., in], `weight` [out, in], `bias`
 * [out]
 */
export function project(trunk: Trunk, x: Value, weight: Value, bias?: Value): Value {
  const adapter = trunk.adapters?.get(weight);
  if (adapter) return lowRankLinear(x, weight, bias, adapter);
  const sizes = trunk.parts?.(weight.shape as readonly [number, number]) ?? [];
  return sizes.length > 1 ? linearInParts(x, weight, bias, sizes) : linear(x, weight, bias);
}

/** x + attention(norm(x)), then x + mlp(norm(x)). */
function block(trunk: Trunk, layer: number, x: Value): Value {
  const { config, parameters } = trunk;
  const weight = (name: string) => parameterOf(trunk, `${layerPrefix(layer)}${name}.weight`);
  const projected = (input: Value, name: string) =>
    project(trunk, input, weight(name), parameters.get(`${layerPrefix(layer)}${name}.bias`));
  const norm = (input: Value, name: string) => rmsNorm(input, weight(name), config.normEpsilon);

  const h = norm(x, 'input_layernorm');
  const heads = (name: string, count: number, normName?: string) => {
    const flat = projected(h, name);
    const split = swapHeads(reshape(flat, [...flat.shape.slice(0, 2), count, config.headDim]));
    return normName && config.qkNorm ? norm(split, normName) : split;
  };
  const rotate = (value: Value) => rotary(value, trunk.positions, trunk.tables);
  const q = rotate(heads('self_attn.q_proj', config.heads, 'self_attn.q_norm'));
  const k = rotate(heads('self_attn.k_proj', config.kvHeads, 'self_attn.k_norm'));
  const v = heads('self_attn.v_proj', config.kvHeads);
  const mixed = trunk.attention(layer, q, k, v);
  const merged = reshape(mixed, [...mixed.shape.slice(0, 2), config.heads * config.headDim]);
  const attended = add(x, projected(merged, 'self_attn.o_proj'));

  const h2 = norm(attended, 'post_attention_layernorm');
  const gated = swiglu(projected(h2, 'mlp.gate_proj'), projected(h2, 'mlp.up_proj'));
  return add(attended, projected(gated, 'mlp.down_proj'));
}
