/**
 * Parts that the blocks and the head of a graph share: parameters, rotary tables, linear layers,
 * norms.
 */
import { InvariantError } from '@trinity-rft/core';
import type { Graph, Value } from '../onnx/graph/graph.js';
import { add } from '../onnx/ops/elementwise.js';
import { linear, linearInParts, lowRankLinear, type LowRank } from '../onnx/ops/matmul.js';
import { rmsNorm } from '../onnx/ops/norm.js';
import type { RotaryTables } from '../onnx/ops/rotary.js';
import { gather } from '../onnx/ops/shape.js';
import type { ExactScoring } from './column-parts.js';
import type { ModelConfig } from './config.js';
import { embeddingName, parameterName, parameterSpecs, perLayerNames } from './parameters.js';
import { localRopeShape, rotatedWidth, type RopeShape } from './rope.js';

/**
 * Mixes the values of a sequence. `q` [B, H, S, D], `k` and `v` [B, KV, S, D], rotated -> [B, S, H,
 * D]. Training, prefill and decoding differ only in the source of the keys: the sequence itself, or
 * a cache.
 */
export type Attention = (layer: number, q: Value, k: Value, v: Value) => Value;

/**
 * Mixes the positions of `inputs`, starting from the state `past` before them. Returns the state
 * after the last position.
 */
type Step = (
  inputs: readonly Value[],
  past: Value | undefined,
) => { readonly y: Value; readonly state: Value };

/**
 * Applies a mixer that has a state per row: `step` reads the positions of `inputs` [B, S, ...] in
 * order. `state` is a name of {@link rowStates}. Training, prefill and decoding differ only in the
 * source of the state, and in whether they keep its new value.
 */
export type Recurrence = (state: string, inputs: readonly Value[], step: Step) => Value;

/**
 * Applies a mixer from the beginning of every sequence, and discards the states after the last
 * position.
 */
export const wholeSequences: Recurrence = (_, inputs, step) => step(inputs, undefined).y;

/** The rotary tables of a model. `local` is set only if some of its layers use separate tables. */
export interface RopeInputs {
  readonly global: RotaryTables;
  readonly local?: RotaryTables;
}

/** Keys and values of a layer, rotated and normalised. [B, KV, S, D] each */
export interface KeyValues {
  readonly k: Value;
  readonly v: Value;
}

/** Values that the blocks of one graph share. */
export interface Trunk {
  readonly config: ModelConfig;
  /** Parameters by Hugging Face name. */
  readonly parameters: ReadonlyMap<string, Value>;
  /** Positions in int64, in the shapes that {@link rotary} accepts. */
  readonly positions: Value;
  readonly tables: RopeInputs;
  readonly attention: Attention;
  readonly recurrence: Recurrence;
  /**
   * Keys and values that later layers read, keyed by the index of the layer that computes them.
   * Blocks add entries.
   */
  readonly keyValues?: Map<number, KeyValues>;
  /**
   * Returns the per-layer input of a layer, see `per-layer-inputs.ts`.
   * @default undefined: the model has no per-layer inputs
   */
  readonly layerInput?: ((layer: number) => Value) | undefined;
  /**
   * Column parts in which a linear layer is computed, see {@link ExactScoring}. A layer that is
   * computed in several parts cannot be differentiated.
   * @default one part
   */
  readonly parts?: ExactScoring['parts'];
  /** Low-rank factors, keyed by the weight into which they are already merged. @default none */
  readonly adapters?: ReadonlyMap<Value, LowRank>;
  /**
   * Functions that replace the product x W^T of a linear layer, keyed by weight. They are for
   * integer weights and for weights whose adapters are not merged.
   * @default none
   */
  readonly products?: ReadonlyMap<Value, (x: Value) => Value>;
}

/**
 * Returns a parameter of the model.
 * @param name see {@link parameterName}
 * @throws InvariantError when the model has no parameter of this name
 */
export function parameterOf(
  { config, parameters }: Pick<Trunk, 'config' | 'parameters'>,
  name: string,
): Value {
  const value = parameters.get(parameterName(config, name));
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
 * Adds the inputs `rope_cos` and `rope_sin`, [P, r / 2] with P at least the largest position plus
 * one and r = {@link rotatedWidth}. For layers with other tables, also adds these inputs with the
 * suffix `_local`.
 */
export function tableInputs(graph: Graph, config: ModelConfig): RopeInputs {
  const pair = (shape: RopeShape, suffix: string): RotaryTables => {
    const dims = ['P', rotatedWidth(shape) / 2];
    return {
      cos: graph.input(`rope_cos${suffix}`, 'float32', dims),
      sin: graph.input(`rope_sin${suffix}`, 'float32', dims),
    };
  };
  const local = localRopeShape(config);
  return { global: pair(config, ''), local: local && pair(local, '_local') };
}

/** Rows of a model's embedding tables for the input tokens. */
export interface Embedded {
  /** Rows of the embedding matrix. [B, S, d] */
  readonly x: Value;
  /** Rows of the per-layer embedding table, if the model has one. [B, S, L P] */
  readonly perLayer?: Value | undefined;
}

/** Looks up the embeddings of tokens. `ids` [B, S] */
export function embed(trunk: Trunk, ids: Value): Embedded {
  const rows = (name: string): Value => gather(parameterOf(trunk, name), ids);
  return {
    x: rows(embeddingName),
    perLayer: trunk.config.perLayerInputs && rows(perLayerNames.table),
  };
}

/**
 * Applies a linear layer: x W^T + bias. Uses the adapters, products and column parts that the trunk
 * has for the weight. `x` [..., in], `weight` [out, in], `bias` [out]
 */
export function project(trunk: Trunk, x: Value, weight: Value, bias?: Value): Value {
  const adapter = trunk.adapters?.get(weight);
  if (adapter) return lowRankLinear(x, weight, bias, adapter);
  const product = trunk.products?.get(weight)?.(x);
  if (product) return bias ? add(product, bias) : product;
  const sizes = trunk.parts?.(weight.shape as readonly [number, number]) ?? [];
  return sizes.length > 1 ? linearInParts(x, weight, bias, sizes) : linear(x, weight, bias);
}

/** Applies {@link project} with the weight and, if there is one, the bias of the layer `name`. */
export function projectNamed(trunk: Trunk, x: Value, name: string): Value {
  const weight = parameterOf(trunk, `${name}.weight`);
  return project(
    trunk,
    x,
    weight,
    trunk.parameters.get(parameterName(trunk.config, `${name}.bias`)),
  );
}

/** Applies RMSNorm with the weights of the norm `name`. */
export function normalize(
  trunk: Pick<Trunk, 'config' | 'parameters'>,
  x: Value,
  name: string,
): Value {
  const { normOffset, normEpsilon } = trunk.config;
  const stored = parameterOf(trunk, name);
  const weight = normOffset ? add(stored, x.graph.scalar(normOffset)) : stored;
  return rmsNorm(x, weight, normEpsilon);
}
