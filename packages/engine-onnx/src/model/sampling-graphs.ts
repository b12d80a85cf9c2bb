/**
 * Graphs of the sampler. The KV cache belongs to the caller: the graphs read it and return only new
 * keys and values. Prefill fills the cache without sampling a token. Decoding reads the last token
 * of the prompt, once for every choice.
 *
 * B rows, S padded prompt length, M cache capacity, P table length, L layers with attention, KV key
 * heads, D head width, V vocabulary. Layers that read keys and values of earlier layers do not
 * count. If widths of heads differ, `new_kv` has parts of {@link cacheParts} instead of heads.
 *
 * | name                  | type                    | prefill | decode | meaning                                                             |
 * | --------------------- | ----------------------- | ------- | ------ | ------------------------------------------------------------------- |
 * | every parameter       | f32                     | in      | in     | arrays of an `ArraySet`                                             |
 * | `rope_cos` `rope_sin` | f32 [P, D/2]            | in      | in     | `RopeFeeds`, P > largest position                                   |
 * | `rope_.._local`       | f32 [P, D/2]            | in      | in     | tables of the layers that do not use `rope_cos` and `rope_sin`      |
 * | `ids`                 | i32 [B, S] or [B, 1]    | in      | in     | prompts, right padded with any valid id; newest token of each row   |
 * | `positions`           | i32 [B, 1]              |         | in     | tokens of the row already cached = position of the newest token < M |
 * | `k.<l>` `v.<l>`       | f32 [B, KV, M, D]       |         | in     | cache of layer l; slots from `positions` on hold any finite numbers |
 * | `conv.<l>`            | f32 [B, K - 1, d]       |         | in     | and other {@link rowStates} of the row after the cached tokens      |
 * | `inverse_temperature` | f32 [B, 1]              |         | in     | 1 / temperature                                                     |
 * | `u`                   | f32 [B, 1]              |         | in     | `sampled`: uniform in [0, 1]                                        |
 * | `new_kv`              | f32 [B, 2 L KV, S|1, D] | out     | out    | K heads of layer 0, V heads of layer 0, K heads of layer 1 ...      |
 * | `new_conv.<l>`        | f32 [B, K - 1, d]       | out     | out    | the states after the last token, so prompts have one length         |
 * | `token`               | i32 [B, 1]              |         | out    | `sampled`: id drawn from the full distribution                      |
 * | `logprob`             | f32 [B, 1]              |         | out    | `sampled`: its log-probability                                      |
 * | `logprobs`            | f32 [B, V]              |         | out    | `logprobs`: the whole distribution, for everything else             |
 *
 * Feed at least two rows. A single row uses a different matrix kernel, which rounds sums in another
 * order.
 */
import type { Dim } from '../onnx/graph/dims.js';
import { Graph, type Value } from '../onnx/graph/graph.js';
import type { ModelRecord } from '../onnx/graph/record.js';
import { causalAttention } from '../onnx/ops/attention.js';
import { cachedAttention, type PastKeyValues } from '../onnx/ops/cached-attention.js';
import { categorical } from '../onnx/ops/categorical.js';
import { cast } from '../onnx/ops/select.js';
import { concat, reshape } from '../onnx/ops/shape.js';
import { attentionOptions } from './attend.js';
import { decoder } from './block.js';
import { cacheHeads, cacheUnit, headDimOf, keysOf, type ModelConfig } from './config.js';
import { headDistribution, headStates } from './head.js';
import { rowStates } from './row-states.js';
import {
  embed,
  parameterInputs,
  tableInputs,
  type Attention,
  type Recurrence,
  type Trunk,
} from './trunk.js';

export type DecodeVariant = 'sampled' | 'logprobs';

/** Builds the graph that reads prompts into the cache. */
export function prefillGraph(config: ModelConfig): ModelRecord {
  const graph = new Graph();
  const ids = graph.input('ids', 'int32', ['B', 'S']);
  const cache: Value[] = [];
  const attention: Attention = (layer, q, k, v) => {
    if (keysOf(config, layer) === layer) cache.push(...cacheParts(config, [k, v]));
    return causalAttention(q, k, v, attentionOptions(config, layer));
  };
  const recurrence = keptStates(graph);
  build(graph, config, { ids, positions: graph.integers([0]), attention, recurrence });
  graph.output('new_kv', concat(cache, 1, cacheHeads(config)));
  return graph.record();
}

/**
 * Builds the graph that reads one token per row, and samples the next token or returns its
 * distribution.
 */
export function decodeGraph(
  config: ModelConfig,
  options: { readonly variant: DecodeVariant },
): ModelRecord {
  const graph = new Graph();
  const ids = graph.input('ids', 'int32', ['B', 1]);
  const slots = graph.input('positions', 'int32', ['B', 1]);
  const cache: Value[] = [];
  const attention: Attention = (layer, q, k, v) => {
    if (keysOf(config, layer) === layer) cache.push(...cacheParts(config, [k, v]));
    const past = pastInputs(graph, config, layer);
    return cachedAttention(q, k, v, past, slots, attentionOptions(config, layer));
  };
  const positions = cast(slots, 'int64');
  const recurrence = keptStates(graph, stateInputs(graph, config));
  const { trunk, x } = build(graph, config, { ids, positions, attention, recurrence });
  graph.output('new_kv', concat(cache, 1, cacheHeads(config)));

  const inverseTemperature = graph.input('inverse_temperature', 'float32', ['B', 1]);
  const states = headStates(trunk, reshape(x, ['B', config.hiddenSize]), inverseTemperature);
  const { logprobs } = headDistribution(trunk, states, inverseTemperature);
  if (options.variant === 'logprobs') {
    graph.output('logprobs', logprobs);
  } else {
    const drawn = categorical(logprobs, graph.input('u', 'float32', ['B', 1]));
    graph.output('token', drawn.token);
    graph.output('logprob', drawn.logprob);
  }
  return graph.record();
}

/**
 * Reshapes keys or values [B, KV, S, D] to parts of width {@link cacheUnit}. [B, KV D / unit, S,
 * unit] each
 */
export function cacheParts(config: ModelConfig, values: readonly Value[]): readonly Value[] {
  const unit = cacheUnit(config);
  return values.map((value) => {
    const [batch, heads, positions, width] = value.shape as [Dim, number, Dim, number];
    return reshape(value, [batch, (heads * width) / unit, positions, unit]);
  });
}

/** Declares the cache that a layer reads as inputs of the graph, once for all layers that read it. */
export function pastInputs(graph: Graph, config: ModelConfig, layer: number): PastKeyValues {
  const source = keysOf(config, layer);
  const shape = ['B', config.kvHeads, 'M', headDimOf(config, source)];
  const input = (name: string): Value =>
    graph.memo(`past ${name}`, () => graph.input(name, 'float32', shape));
  return { k: input(`k.${source}`), v: input(`v.${source}`) };
}

/** Declares the recurrent states of the rows as inputs of the graph. Returns the inputs by name. */
export function stateInputs(graph: Graph, config: ModelConfig): ReadonlyMap<string, Value> {
  return new Map(
    rowStates(config).map(({ name, shape }) => [
      name,
      graph.input(name, 'float32', ['B', ...shape]),
    ]),
  );
}

/** Returns a recurrence that continues from the states `past` and outputs the new states. */
function keptStates(graph: Graph, past?: ReadonlyMap<string, Value>): Recurrence {
  return (name, inputs, step) => {
    const { y, state } = step(inputs, past?.get(name));
    graph.output(`new_${name}`, state);
    return y;
  };
}

type Reading = Pick<Trunk, 'positions' | 'attention' | 'recurrence'> & { readonly ids: Value };

function build(
  graph: Graph,
  config: ModelConfig,
  { ids, ...reading }: Reading,
): { readonly trunk: Trunk; readonly x: Value } {
  const trunk: Trunk = {
    config,
    parameters: parameterInputs(graph, config),
    tables: tableInputs(graph, config),
    ...reading,
  };
  return { trunk, x: decoder(trunk, embed(trunk, ids)) };
}
