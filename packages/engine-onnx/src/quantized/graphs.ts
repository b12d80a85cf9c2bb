/**
 * Graphs of a model that contain its quantised weights. One body reads both single tokens of
 * sequences whose cache the caller keeps, and whole sequences. Its weights are therefore in memory
 * only once. Scores equal sampled log-probabilities bit for bit, because the bits of a row of a
 * product do not depend on the other rows.
 *
 * B single tokens, C sequences of S tokens, at least one of each, N = B + C S rows in this order, R
 * selected rows, M cache capacity, P table length, L layers, KV key heads, D head width, d hidden
 * size, V vocabulary
 *
 * | name                  | type                | body | head | meaning                                                  |
 * | --------------------- | ------------------- | ---- | ---- | -------------------------------------------------------- |
 * | every adapter matrix  | f32                 | in   |      | arrays of an `ArraySet`                                  |
 * | `rope_cos` `rope_sin` | f32 [P, D/2]        | in   |      | as in `sampling-graphs.ts`, also those with `_local`     |
 * | `embedded`            | f32 [N, d]          | in   |      | rows of the embedding matrix                             |
 * | `per_layer`           | f32 [N, ..]         | in   |      | rows of the table of the layers' inputs, if the model has them |
 * | `positions`           | i64 [N, 1]          | in   |      | position of each token in its sequence                   |
 * | `slots`               | i32 [B, 1]          | in   |      | positions of the single tokens                           |
 * | `sequences`           | i32 [C, S]          | in   |      | only its shape is read                                   |
 * | `k.<l>` `v.<l>`       | f32 [B, KV, M, D]   | in   |      | cache of layer l, as in `sampling-graphs.ts`             |
 * | `conv.<l>`            | f32 [B, K - 1, d]   | in   |      | states of the single tokens' rows, as in `sampling-graphs.ts` |
 * | `rows`                | i32 [R]             | in   |      | selected rows of the N                                   |
 * | `inverse_temperature` | f32 [R, 1]          | in   |      | 1 / temperature                                          |
 * | `new_kv`              | f32 [B, 2 L KV, 1, D] | out |     | as in `sampling-graphs.ts`                               |
 * | `sequence_kv`         | f32 [C, 2 L KV, S, D] | out |     | like `new_kv`, of the sequences                          |
 * | `new_conv.<l>`        | f32 [B, K - 1, d]   | out  |      | as in `sampling-graphs.ts`                               |
 * | `sequence_conv.<l>`   | f32 [C, K - 1, d]   | out  |      | like `new_conv.<l>`, of the sequences                    |
 * | `states`              | f32 [R, d]          | out  | in   | after the final norm                                     |
 * | `product`             | f32 [R, V]          |      | out  | of states and head                                       |
 */
import { causalAttention } from '../onnx/ops/attention.js';
import { blockProduct, blockShapes, type BlockMatrix } from '../onnx/ops/blocks.js';
import { cachedAttention } from '../onnx/ops/cached-attention.js';
import { categorical } from '../onnx/ops/categorical.js';
import { add } from '../onnx/ops/elementwise.js';
import { linear, linearInParts, lowRankProduct, type LowRank } from '../onnx/ops/matmul.js';
import { concat, gather, reshape, swapHeads } from '../onnx/ops/shape.js';
import { Graph, type Value } from '../onnx/graph/graph.js';
import type { ModelRecord } from '../onnx/graph/record.js';
import type { Place } from '../onnx/external-files.js';
import { attentionOptions } from '../model/attend.js';
import { decoder } from '../model/block.js';
import { steadyParts } from '../model/column-parts.js';
import { cacheHeads, keysOf, type ModelConfig } from '../model/config.js';
import { distributionOf, headStates } from '../model/head.js';
import { scoresOf, type ScoreOptions } from '../model/head-chunks.js';
import type { LayerAdapters } from '../model/layer-graphs.js';
import { headName, isLookup, parameterSpecs, type ParameterSpec } from '../model/parameters.js';
import {
  cacheParts,
  pastInputs,
  stateInputs,
  type DecodeVariant,
} from '../model/sampling-graphs.js';
import { tableInputs, type Attention, type Recurrence, type Trunk } from '../model/trunk.js';
import { bytesOf } from '../runtime/host-arrays.js';
import { decodedNumbers, isBlocks, isTensor, type QuantizedBase } from './base.js';
import { paired } from './quantize.js';

export interface QuantizedGraphOptions {
  readonly base: QuantizedBase;
  /** Threads inside one operator. */
  readonly threads: number;
  /** Stores the bytes of a constant in the model file or in a file next to it. */
  readonly place: Place;
}

type Linear = (x: Value, weight: Value) => Value;

/** Builds the graph that computes states, keys and values from tokens. */
export async function bodyGraph(
  options: QuantizedGraphOptions,
  { targets, scale }: LayerAdapters,
): Promise<ModelRecord> {
  const { config } = options.base;
  const graph = new Graph();
  const inputOf = ({ name, shape }: ParameterSpec): Value => graph.input(name, 'float32', shape);
  const factors = new Map(
    targets.map(({ weight, a, b }): [string, LowRank] => [
      weight.name,
      { a: inputOf(a), b: inputOf(b), scale },
    ]),
  );
  const isInside = ({ name }: ParameterSpec): boolean =>
    !isLookup(name) && name !== headName(config);
  const weights = await storedWeights(
    graph,
    parameterSpecs(config).filter(isInside),
    options,
    factors,
  );
  const cache: Cache = { single: [], sequences: [] };
  const trunk: Trunk = {
    config,
    ...weights,
    positions: graph.input('positions', 'int64', ['N', 1]),
    tables: tableInputs(graph, config),
    attention: mixedAttention(graph, config, cache),
    recurrence: mixedRecurrence(graph, config),
  };
  const rowsOf = (name: string, width: number): Value =>
    reshape(graph.input(name, 'float32', ['N', width]), ['N', 1, width]);
  const { perLayerInputs: inputs } = config;
  const x = decoder(trunk, {
    x: rowsOf('embedded', config.hiddenSize),
    perLayer: inputs && rowsOf('per_layer', config.layers * inputs.size),
  });
  const picked = gather(reshape(x, ['N', config.hiddenSize]), graph.input('rows', 'int32', ['R']));
  const heads = cacheHeads(config);
  graph.output('new_kv', concat(cache.single, 1, heads));
  graph.output('sequence_kv', concat(cache.sequences, 1, heads));
  const inverseTemperature = graph.input('inverse_temperature', 'float32', ['R', 1]);
  graph.output('states', headStates(trunk, picked, inverseTemperature));
  return graph.record();
}

/** Builds the graph that computes the product of hidden states and the head's weight. */
export async function headGraph(options: QuantizedGraphOptions): Promise<ModelRecord> {
  const { config } = options.base;
  const graph = new Graph();
  const name = headName(config);
  const spec = parameterSpecs(config).filter((each) => each.name === name);
  const { parameters, products } = await storedWeights(graph, spec, options);
  const states = graph.input('states', 'float32', ['R', config.hiddenSize]);
  const product = products.get(parameters.get(name)!)!;
  graph.output('product', product(states));
  return graph.record();
}

/**
 * New keys and values of all layers, in this order: keys of layer 0, values of layer 0, keys of
 * layer 1, and so on.
 */
interface Cache {
  readonly single: Value[];
  readonly sequences: Value[];
}

/**
 * Returns an attention function in which single tokens attend to the cache, and each sequence
 * attends to itself. Rows are [N, H, 1, D].
 */
function mixedAttention(graph: Graph, config: ModelConfig, cache: Cache): Attention {
  const slots = graph.input('slots', 'int32', ['B', 1]);
  graph.input('sequences', 'int32', ['C', 'S']);
  const sequences = (x: Value): Value =>
    swapHeads(reshape(others(x), ['C', 'S', x.shape[1]!, x.shape[3]!]));
  return (layer, q, k, v) => {
    const past = pastInputs(graph, config, layer);
    const options = attentionOptions(config, layer);
    const isOwn = keysOf(config, layer) === layer;
    const own = [single(k), single(v)] as const;
    if (isOwn) cache.single.push(...cacheParts(config, own));
    const first = cachedAttention(single(q), ...own, past, slots, options);
    const whole = [sequences(k), sequences(v)] as const;
    if (isOwn) cache.sequences.push(...cacheParts(config, whole));
    const rest = causalAttention(sequences(q), ...whole, options);
    const rows = reshape(rest, ['C*S', 1, ...rest.shape.slice(2)]);
    return concat([first, rows], 0, 'N');
  };
}

/**
 * Returns a recurrence in which single tokens continue from their rows' states, and sequences start
 * from zeros. Rows are [N, 1, ...].
 */
function mixedRecurrence(graph: Graph, config: ModelConfig): Recurrence {
  const past = stateInputs(graph, config);
  const sequences = (x: Value): Value => reshape(others(x), ['C', 'S', ...x.shape.slice(2)]);
  return (name, inputs, step) => {
    const first = step(inputs.map(single), past.get(name));
    const rest = step(inputs.map(sequences), undefined);
    graph.output(`new_${name}`, first.state);
    graph.output(`sequence_${name}`, rest.state);
    const rows = reshape(rest.y, ['C*S', 1, ...rest.y.shape.slice(2)]);
    return concat([first.y, rows], 0, 'N');
  };
}

/** Returns the first B of the N rows, which are those of the single tokens. */
function single(x: Value): Value {
  const { graph } = x;
  return slice(x, graph.integers([0]), graph.size('B'), x.shape.with(0, 'B'));
}

/** Returns the rows of the sequences, which follow those of {@link single}. */
function others(x: Value): Value {
  const { graph } = x;
  return slice(x, graph.size('B'), graph.integers([2 ** 40]), x.shape.with(0, 'C*S'));
}

const slice = (x: Value, from: Value, to: Value, shape: Value['shape']): Value =>
  x.graph.node('Slice', [x, from, to, x.graph.integers([0])], { shape });

/**
 * Stores the weights as constants of the graph. Also returns, for each matrix W, the function that
 * computes x W^T.
 */
async function storedWeights(
  graph: Graph,
  specs: readonly ParameterSpec[],
  options: QuantizedGraphOptions,
  factors: ReadonlyMap<string, LowRank> = new Map(),
): Promise<Required<Pick<Trunk, 'parameters' | 'products'>>> {
  const layer: Linear = (x, weight) => {
    const parts = steadyParts(weight.shape as [number, number], options.threads);
    return parts.length > 1 ? linearInParts(x, weight, undefined, parts) : linear(x, weight);
  };
  const parameters = new Map<string, Value>();
  const products = new Map<Value, (x: Value) => Value>();
  for (const spec of specs) {
    const matrix = await storedParameter(graph, spec, options);
    const value = isMatrix(matrix) ? matrix.integers : matrix;
    parameters.set(spec.name, value);
    if (spec.shape.length !== 2) continue;
    const product = (x: Value): Value =>
      isMatrix(matrix) ? blockProduct(matrix, x, layer) : layer(x, matrix);
    const factor = factors.get(spec.name);
    products.set(value, (x) =>
      factor ? add(product(x), lowRankProduct(x, factor, layer)) : product(x),
    );
  }
  return { parameters, products };
}

const isMatrix = (stored: BlockMatrix | Value): stored is BlockMatrix => 'integers' in stored;

async function storedParameter(
  graph: Graph,
  spec: ParameterSpec,
  { base, place }: QuantizedGraphOptions,
): Promise<BlockMatrix | Value> {
  const stored = base.of(spec);
  const put = async (
    name: string,
    shape: readonly number[],
    data: Float32Array | Uint8Array,
  ): Promise<Value> =>
    graph.stored(name, {
      dtype: data instanceof Float32Array ? 'float32' : 'uint8',
      shape,
      bytes: await place(bytesOf(data)),
    });
  if (isTensor(stored)) {
    const pieces = decodedNumbers(spec, stored).map(bytesOf);
    return graph.stored(spec.name, {
      dtype: 'float32',
      shape: spec.shape,
      bytes: await place({ length: 4 * spec.size, pieces }),
    });
  }
  if (!isBlocks(stored)) return put(spec.name, spec.shape, stored);
  const shape = spec.shape as readonly [number, number];
  const dims = blockShapes(shape, stored);
  const numbers = (suffix: string, data: Float32Array): Promise<Value> =>
    put(`${spec.name}.${suffix}`, dims.scales, data);
  const { bits, length, hasOffsets } = stored;
  return {
    bits,
    length,
    hasOffsets,
    shape,
    integers: await put(
      `${spec.name}.integers`,
      dims.integers,
      bits === 4 ? paired(stored.integers) : stored.integers,
    ),
    scales: await numbers('scales', stored.scales),
    ...(stored.offsets && { offsets: await numbers('offsets', stored.offsets) }),
  };
}

/**
 * Builds the graph that computes the outputs of decoding from the product of hidden states and
 * head: see `sampling-graphs.ts`.
 */
export function drawGraph(config: ModelConfig, variant: DecodeVariant): ModelRecord {
  const { graph, logprobs } = productInput(config);
  if (variant === 'logprobs') graph.output('logprobs', logprobs);
  else {
    const drawn = categorical(logprobs, graph.input('u', 'float32', ['R', 1]));
    graph.output('token', drawn.token);
    graph.output('logprob', drawn.logprob);
  }
  return graph.record();
}

/**
 * Builds the graph that computes the outputs of scoring from the product of hidden states and head:
 * see `training-graphs.ts`.
 */
export function scoreGraph(config: ModelConfig, options: ScoreOptions): ModelRecord {
  const { graph, logprobs } = productInput(config);
  const scores = scoresOf(logprobs, graph.input('targets', 'int32', ['R', 1]), options);
  for (const [name, value] of Object.entries(scores)) graph.output(name, value as Value);
  return graph.record();
}

function productInput(config: ModelConfig): { readonly graph: Graph; readonly logprobs: Value } {
  const graph = new Graph();
  const product = graph.input('product', 'float32', ['R', config.vocabSize]);
  const inverseTemperature = graph.input('inverse_temperature', 'float32', ['R', 1]);
  return { graph, logprobs: distributionOf({ config }, product, inverseTemperature).logprobs };
}
