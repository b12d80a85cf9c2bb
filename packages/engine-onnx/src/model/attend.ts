/** The attention branch of a block. */
import { InvariantError } from '@trinity-rft/core';
import type { Graph, Value } from '../onnx/graph/graph.js';
import type { AttentionOptions } from '../onnx/ops/attention.js';
import { multiply, sigmoid } from '../onnx/ops/elementwise.js';
import { rmsNorm } from '../onnx/ops/norm.js';
import { rotary } from '../onnx/ops/rotary.js';
import { columns, reshape, swapHeads } from '../onnx/ops/shape.js';
import { headDimOf, keysOf, layerTraits, type ModelConfig } from './config.js';
import { layerPrefix } from './parameters.js';
import { normalize, projectNamed, type KeyValues, type Trunk } from './trunk.js';

/** Returns the options for computing the attention scores of a layer. */
export function attentionOptions(config: ModelConfig, layer: number): AttentionOptions {
  const { attentionScale: scale, attentionCap: cap } = config;
  return { scale, cap, window: layerTraits(config, layer).window };
}

/** Applies attention to `h`. [B, S, d] -> [B, S, d] */
export function attend(trunk: Trunk, layer: number, h: Value): Value {
  const { config } = trunk;
  const made = projections(trunk, layer, h);
  const { queries, gate } = gated(config, made('q'));
  const q = rotated(trunk, layer, inHeads(trunk, layer, queries, 'q'));
  const { k, v } = keyValues(trunk, layer, made);
  const attended = trunk.attention(layer, q, k, v);
  const mixed = gate ? multiply(attended, sigmoid(gate)) : attended;
  const width = config.heads * headDimOf(config, layer);
  const merged = reshape(mixed, [...mixed.shape.slice(0, 2), width]);
  return projectNamed(trunk, merged, `${layerPrefix(layer)}self_attn.o_proj`);
}

/** Returns the keys and values that a layer reads: its own, or those of an earlier layer. */
function keyValues(trunk: Trunk, layer: number, made: (part: Part) => Value): KeyValues {
  const source = keysOf(trunk.config, layer);
  if (source !== layer) {
    const found = trunk.keyValues?.get(source);
    if (found) return found;
    throw new InvariantError(
      `Layer ${layer} reads the keys of layer ${source}, which are missing.`,
    );
  }
  const own = {
    k: rotated(trunk, layer, inHeads(trunk, layer, made('k'), 'k')),
    v: inHeads(trunk, layer, made('v'), 'v'),
  };
  trunk.keyValues?.set(layer, own);
  return own;
}

/**
 * Splits the query projection into queries [B, S, H D] and gates [B, S, H, D]. Returns the whole
 * projection as queries if the model has no attention gates.
 */
function gated(
  { gatedAttention, heads, headDim }: ModelConfig,
  made: Value,
): { readonly queries: Value; readonly gate?: Value } {
  if (!gatedAttention) return { queries: made };
  const lead = made.shape.slice(0, 2);
  const both = reshape(made, [...lead, heads, 2 * headDim]);
  return {
    queries: reshape(columns(both, 0, headDim), [...lead, heads * headDim]),
    gate: columns(both, headDim, headDim),
  };
}

type Part = 'q' | 'k' | 'v';

const headsOf = ({ heads, kvHeads }: ModelConfig, part: Part): number =>
  part === 'q' ? heads : kvHeads;

/**
 * Returns a function that projects `h` to queries, keys or values. The three projections have
 * separate weight matrices or share one.
 */
function projections(trunk: Trunk, layer: number, h: Value): (part: Part) => Value {
  const { config } = trunk;
  const prefix = `${layerPrefix(layer)}self_attn.`;
  if (!config.fusedAttention) return (part) => projectNamed(trunk, h, `${prefix}${part}_proj`);
  const all = projectNamed(trunk, h, `${prefix}qkv_proj`);
  const { heads, kvHeads, headDim } = config;
  const starts = { q: 0, k: heads * headDim, v: (heads + kvHeads) * headDim };
  return (part) => columns(all, starts[part], headsOf(config, part) * headDim);
}

/** Splits a projection into heads, with queries and keys normalised. [B, S, H D] -> [B, H, S, D] */
function inHeads(trunk: Trunk, layer: number, flat: Value, part: Part): Value {
  const { config } = trunk;
  const scope = part !== 'v' && config.qkNorm ? (config.qkNormScope ?? 'head') : undefined;
  const norm = (value: Value): Value =>
    normalize(trunk, value, `${layerPrefix(layer)}self_attn.${part}_norm.weight`);
  const wide = scope === 'projection' ? norm(flat) : flat;
  const width = headDimOf(config, layer);
  const split = swapHeads(reshape(wide, [...flat.shape.slice(0, 2), headsOf(config, part), width]));
  if (part === 'v' && config.valueNorm)
    return rmsNorm(split, ones(split.graph, width), config.normEpsilon);
  return scope === 'head' ? norm(split) : split;
}

const ones = (graph: Graph, width: number): Value =>
  graph.constant(new Float32Array(width).fill(1), [width]);

function rotated(trunk: Trunk, layer: number, value: Value): Value {
  const { rope } = layerTraits(trunk.config, layer);
  const { global, local = global } = trunk.tables;
  if (rope === 'none') return value;
  return rotary(value, trunk.positions, rope === 'local' ? local : global);
}
