/**
 * Graphs of one layer and of parts of the head. The caller executes one graph after another. This
 * computes gradients layer by layer, with only the hidden states between layers in memory.
 *
 * B rows, T padded length (at least 2), N = B * T, R selected positions, C tokens of a part of the
 * vocabulary, d hidden size. Parameters, rotary tables and everything else that is not listed are
 * as in `training-graphs.ts`. Layers with the same traits share a graph, whose parameters have the
 * names of one of these layers.
 *
 * | graph           | inputs                                                                    | outputs                                   |
 * | --------------- | ------------------------------------------------------------------------- | ----------------------------------------- |
 * | layer           | `x` [B, T, d]                                                             | `y` [B, T, d]                             |
 * | layer gradient  | `x`, `grad_y` [B, T, d]                                                   | `grad_x`, `grad.<parameter>`              |
 * | layer inputs    | `x` [B, T, d], `rows` [B, T, L P], see `per-layer-inputs.ts`              | `input.<l>` [B, T, P] of each layer       |
 * | their gradient  | also `grad_input.<l>` of each layer                                       | `grad_x`, `grad_rows`, `grad.<parameter>` |
 * | states          | `x`, `rows`, `inverse_temperature`                                        | `states` [R, d]                           |
 * | states gradient | `x`, `rows`, `spread`, `inverse_temperature`, `grad_states` [R, d]        | `grad_x`, and that of the final norm      |
 * | logits          | `states`, `weight` [C, d], `inverse_temperature`, `targets` [R, 1]        | `largest`, `sum`, `dot`, `target` [R, 1], see below |
 * | logits gradient | also `log_total`, `grad_logprobs`, `grad_targets` [R, 1], and with `entropy`: `grad_entropy`, `own_entropy` [R, 1] | `grad_states` [R, d], `grad_weight` [C, d] |
 *
 * In models with layer inputs, the graphs of layers also have the input `layer_input`, and without
 * adapters the output `grad_layer_input`. A layer whose keys and values are read later has the
 * outputs `k` and `v` [B, KV, T, D], and the inputs `grad_k` and `grad_v` in its gradient graph. A
 * layer that reads them has the inputs `k` and `v`, and the outputs `grad_k` and `grad_v`.
 *
 * For the logits l of a part: `largest` = max(l), `sum` = sum(e^(l - largest)), `dot` = sum(e^(l -
 * largest) l), `target` = l of the target. A quantised weight consists of the inputs of
 * `blockInput`. `log_total` is the logarithm of sum(e^l) over all parts. `targets` are indices of
 * tokens within the part, and `grad_targets` is `grad_logprobs` where the target is in the part,
 * else 0.
 */
import { gradients, type Seed } from '../onnx/autodiff.js';
import type { Dim } from '../onnx/graph/dims.js';
import { Graph, type Value } from '../onnx/graph/graph.js';
import type { ModelRecord } from '../onnx/graph/record.js';
import { blockInput, blockNumbers, type BlockFormat } from '../onnx/ops/blocks.js';
import { add, exp, multiply, negate, subtract } from '../onnx/ops/elementwise.js';
import { linear, lowRankProduct, matmul, rowDot, type LowRank } from '../onnx/ops/matmul.js';
import { gatherElements, scatterElements } from '../onnx/ops/select.js';
import { reshape, takeRows } from '../onnx/ops/shape.js';
import { block } from './block.js';
import { headDimOf, isReadLater, keysOf, type ModelConfig } from './config.js';
import { headLogits, headStates } from './head.js';
import {
  finalNormName,
  headName,
  layerInputSpecs,
  layerSpecs,
  type ParameterSpec,
} from './parameters.js';
import { perLayerInputs } from './per-layer-inputs.js';
import { trainingTrunk } from './training-graphs.js';
import { parameterOf, type KeyValues, type Trunk } from './trunk.js';

/** A frozen matrix and its trained low-rank factors; see {@link LowRank}. */
interface AdaptedMatrix {
  readonly weight: ParameterSpec;
  readonly a: ParameterSpec;
  readonly b: ParameterSpec;
}

/**
 * Adapters of linear layers. With adapters, their factors are trained and the parameters are
 * frozen.
 */
export interface LayerAdapters {
  readonly targets: readonly AdaptedMatrix[];
  readonly scale: number;
}

export type BlockFormats = ReadonlyMap<string, BlockFormat>;

export interface LayerGraphOptions {
  /**
   * Adapters. If there are any, gradient graphs return the gradients of their factors instead of
   * those of the parameters.
   */
  readonly adapters?: LayerAdapters | undefined;
  /**
   * Formats of the block-quantised matrices, keyed by parameter name. Adapters are not merged into
   * such matrices.
   * @default none
   */
  readonly formats?: BlockFormats | undefined;
  /** True if rows can share a prompt; see the inputs of `training-graphs.ts`. */
  readonly branching: boolean;
}

/** Builds the forward graph of one layer. */
export function layerGraph(
  config: ModelConfig,
  layer: number,
  { branching, formats, adapters }: LayerGraphOptions,
): ModelRecord {
  const beside = formats && adapters;
  const { graph, y, made } = layerBody(config, layer, { branching, formats, adapters: beside });
  graph.output('y', y);
  for (const [name, value] of Object.entries(made)) graph.output(name, value);
  return graph.record();
}

/** Builds the gradient graph of one layer. The graph recomputes the forward pass. */
export function layerGradientGraph(
  config: ModelConfig,
  layer: number,
  options: LayerGraphOptions,
): ModelRecord {
  const { graph, x, y, made, read, input, trained } = layerBody(config, layer, options);
  const seeds = Object.entries({ y, ...made }).map(([name, value]) => ({
    value,
    gradient: graph.input(`grad_${name}`, 'float32', value.shape),
  }));
  const states = { x, ...read, ...(input && !options.adapters && { layer_input: input }) };
  outputGradients(graph, seeds, [
    ...Object.entries(states).map(([name, value]) => [`grad_${name}`, value] as const),
    ...[...trained].map(([name, value]) => [`grad.${name}`, value] as const),
  ]);
  return graph.record();
}

/** Adds the gradient of each target as an output of the given name. */
function outputGradients(
  graph: Graph,
  seeds: readonly Seed[],
  targets: readonly (readonly [name: string, value: Value])[],
): void {
  const values = targets.map(([, value]) => value);
  const found = gradients(seeds, values);
  for (const [i, [name]] of targets.entries()) graph.output(name, found[i]!);
}

/** Builds the graph that computes the per-layer inputs of all layers. */
export function layerInputsGraph(config: ModelConfig, formats?: BlockFormats): ModelRecord {
  const { graph, inputs } = layerInputsBody(config, formats);
  for (const [layer, input] of inputs.entries()) graph.output(`input.${layer}`, input);
  return graph.record();
}

/** Builds the gradient graph of {@link layerInputsGraph}. */
export function layerInputsGradientGraph(config: ModelConfig): ModelRecord {
  const { graph, x, rows, inputs, parameters } = layerInputsBody(config);
  const seeds = inputs.map((value, layer) => ({
    value,
    gradient: graph.input(`grad_input.${layer}`, 'float32', value.shape),
  }));
  outputGradients(graph, seeds, [
    ['grad_x', x],
    ['grad_rows', rows],
    ...[...parameters].map(([name, value]) => [`grad.${name}`, value] as const),
  ]);
  return graph.record();
}

function layerInputsBody(config: ModelConfig, formats?: BlockFormats) {
  const graph = new Graph();
  const { layers, perLayerInputs: { size = 0 } = {} } = config;
  const x = graph.input('x', 'float32', ['B', 'T', config.hiddenSize]);
  const rows = graph.input('rows', 'float32', ['B', 'T', layers * size]);
  const parameters = new Map(
    layerInputSpecs(config).map(({ name, shape }) => [
      name,
      weightInput(graph, name, shape, formats),
    ]),
  );
  const trunk = trainingTrunk(graph, config, parameters, {});
  return { graph, x, rows, parameters, inputs: perLayerInputs(trunk, x, rows) };
}

function layerBody(
  config: ModelConfig,
  layer: number,
  { adapters, branching, formats }: LayerGraphOptions,
) {
  const graph = new Graph();
  const x = graph.input('x', 'float32', ['B', 'T', config.hiddenSize]);
  const inputOf = ({ name, shape }: ParameterSpec) =>
    [name, weightInput(graph, name, shape, formats)] as const;
  const parameters = new Map(layerSpecs(config, layer).map(inputOf));
  const own = adapters?.targets.filter(({ weight }) => parameters.has(weight.name));
  const factors = own && new Map(own.flatMap(({ a, b }) => [inputOf(a), inputOf(b)]));
  const lowRank = own?.map(({ weight, a, b }) => {
    const pair: LowRank = {
      a: parameterOf({ config, parameters: factors ?? parameters }, a.name),
      b: parameterOf({ config, parameters: factors ?? parameters }, b.name),
      scale: adapters?.scale ?? 1,
    };
    return [parameterOf({ config, parameters }, weight.name), pair] as const;
  });
  const { perLayerInputs: { size } = {} } = config;
  const input =
    size === undefined ? undefined : graph.input('layer_input', 'float32', ['B', 'T', size]);
  const read = readKeyValues(graph, config, layer);
  const keyValues = new Map(read && [[keysOf(config, layer), read]]);
  const trunk = {
    ...trainingTrunk(graph, config, parameters, {
      ...(formats
        ? { products: besides(lowRank ?? []) }
        : { adapters: lowRank && new Map(lowRank) }),
      branching,
    }),
    keyValues,
    layerInput: input && (() => input),
  };
  const y = block(trunk, layer, x);
  const made = isReadLater(config, layer) ? keyValues.get(layer) : undefined;
  return { graph, x, y, made: { ...made }, read, input, trained: factors ?? parameters };
}

/** Declares the keys and values of an earlier layer as inputs, if the layer reads them. */
function readKeyValues(graph: Graph, config: ModelConfig, layer: number): KeyValues | undefined {
  if (keysOf(config, layer) === layer) return undefined;
  const shape = ['B', config.kvHeads, 'T', headDimOf(config, layer)];
  return { k: graph.input('k', 'float32', shape), v: graph.input('v', 'float32', shape) };
}

/**
 * Returns functions that compute x W^T plus the product with the adapter's factors, keyed by
 * weight. They are for layers whose adapters are not merged into the weights.
 */
const besides = (pairs: readonly (readonly [Value, LowRank])[]): NonNullable<Trunk['products']> =>
  new Map(
    pairs.map(([weight, factors]) => [
      weight,
      (x) => add(linear(x, weight), lowRankProduct(x, factors)),
    ]),
  );

/**
 * Declares a parameter as an input of the graph. A block-quantised parameter is converted to
 * float32.
 */
function weightInput(
  graph: Graph,
  name: string,
  shape: readonly Dim[],
  formats: BlockFormats | undefined,
): Value {
  const format = formats?.get(name);
  return format
    ? blockNumbers(blockInput(graph, name, shape as readonly [Dim, number], format))
    : graph.input(name, 'float32', shape);
}

/** Builds the graph that computes the hidden states that the head reads. */
export function statesGraph(config: ModelConfig): ModelRecord {
  const { graph, states } = statesBody(config, false);
  graph.output('states', states);
  return graph.record();
}

/**
 * Builds the gradient graph of {@link statesGraph}. @param frozen true if the norm is not trained
 */
export function statesGradientGraph(config: ModelConfig, frozen: boolean): ModelRecord {
  const { graph, x, norm, states } = statesBody(config, true);
  const seed = { value: states, gradient: graph.input('grad_states', 'float32', states.shape) };
  const [dx, dNorm] = gradients([seed], frozen ? [x] : [x, norm]);
  graph.output('grad_x', dx!);
  if (dNorm) graph.output(`grad.${finalNormName(config)}`, dNorm);
  return graph.record();
}

function statesBody(config: ModelConfig, differentiated: boolean) {
  const graph = new Graph();
  const x = graph.input('x', 'float32', ['B', 'T', config.hiddenSize]);
  const normName = finalNormName(config);
  const norm = graph.input(normName, 'float32', [config.hiddenSize]);
  const trunk = { config, parameters: new Map([[normName, norm]]) };
  const rows = graph.input('rows', 'int32', ['R']);
  const spread = differentiated ? graph.input('spread', 'int32', ['N']) : undefined;
  const flat = reshape(x, ['N', config.hiddenSize]);
  const inverseTemperature = graph.input('inverse_temperature', 'float32', ['R', 1]);
  const states = headStates(trunk, takeRows(flat, rows, spread), inverseTemperature);
  return { graph, x, norm, states };
}

/**
 * Builds the graph that computes sums over a part of the vocabulary. Log-probabilities and
 * entropies follow from the sums of all parts.
 */
export function logitsGraph(config: ModelConfig, formats?: BlockFormats): ModelRecord {
  const { graph, logits } = logitsBody(config, formats);
  const over = { shape: ['R', 1] };
  const reduce = (type: string, value: Value): Value =>
    graph.node(type, [value, graph.integers([1])], over, { attributes: { keepdims: 1 } });
  const largest = reduce('ReduceMax', logits);
  const powers = exp(subtract(logits, largest));
  graph.output('largest', largest);
  graph.output('sum', reduce('ReduceSum', powers));
  graph.output('dot', rowDot(powers, logits));
  graph.output('target', gatherElements(logits, graph.input('targets', 'int32', ['R', 1]), 1));
  return graph.record();
}

export interface LogitsGradientOptions {
  /**
   * True if the loss depends on the entropy. The graph then has the inputs `grad_entropy` and
   * `own_entropy`.
   */
  readonly entropy: boolean;
  /** True if the head is not trained. */
  readonly frozen: boolean;
  /** See {@link LayerGraphOptions.formats}. */
  readonly formats?: BlockFormats | undefined;
}

/**
 * Builds the gradient graph of {@link logitsGraph}. With log p = l - log_total, the entropy H, a =
 * dL/dlogprob of the target and e = dL/dH: dL/dl = a onehot(target) - p (a + e (log p + H)).
 */
export function logitsGradientGraph(
  config: ModelConfig,
  { entropy, frozen, formats }: LogitsGradientOptions,
): ModelRecord {
  const { graph, states, weight, logits, slope } = logitsBody(config, formats);
  const column = (name: string, dtype: 'float32' | 'int32' = 'float32'): Value =>
    graph.input(name, dtype, ['R', 1]);
  const logp = subtract(logits, column('log_total'));
  const a = column('grad_logprobs');
  const factor = entropy
    ? add(a, multiply(column('grad_entropy'), add(logp, column('own_entropy'))))
    : a;
  const dLogits = scatterElements(
    multiply(exp(logp), negate(factor)),
    column('targets', 'int32'),
    column('grad_targets'),
    { axis: 1, reduction: 'add' },
  );
  const dProducts = slope ? multiply(dLogits, slope) : dLogits;
  graph.output('grad_states', matmul(dProducts, weight));
  if (!frozen) graph.output('grad_weight', matmul(dProducts, states, { transposeA: true }));
  return graph.record();
}

function logitsBody(config: ModelConfig, formats: BlockFormats | undefined) {
  const graph = new Graph();
  const states = graph.input('states', 'float32', ['R', config.hiddenSize]);
  const format = formats?.get(headName(config));
  const own = format && new Map([['weight', format]]);
  const weight = weightInput(graph, 'weight', ['C', config.hiddenSize], own);
  const inverseTemperature = graph.input('inverse_temperature', 'float32', ['R', 1]);
  const product = matmul(states, weight, { transposeB: true });
  return { graph, states, weight, ...headLogits({ config }, product, inverseTemperature) };
}
