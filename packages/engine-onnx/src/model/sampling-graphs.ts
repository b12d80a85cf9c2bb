/**
 * Graphs of the sampler. The KV cache belongs to the caller: the graphs read it and return only new
 * keys and values. Prefill fills the cache without drawing a token. Decoding reads the last token
 * of the prompt, once for every choice.
 *
 * B rows, S padded prompt length, M cache capacity, P table length, L layers with attention, KV key
 * heads, D head width, V vocabulary
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
import { Graph, type Value } from '../onnx/graph/graph.js';
import type { ModelRecord } from '../onnx/graph/record.js';
import { causalAttention } from '../onnx/ops/attention.js';
import { cachedAttention } from '../onnx/ops/cached-attention.js';
import { categorical } from '../onnx/ops/categorical.js';
import { cast } from '../onnx/ops/select.js';
import { concat, reshape } from '../onnx/ops/shape.js';
import { attentionOptions } from './attend.js';
import { decoder } from './block.js';
import { cacheHeads, type ModelConfig } from './config.js';
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
    cache.push(k, v);
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
  const shape = ['B', config.kvHeads, 'M', config.headDim];
  const attention: Attention = (layer, q, k, v) => {
    cache.push(k, v);
    const past = {
      k: graph.input(`k.${layer}`, 'float32', shape),
      v: graph.input(`v.${layer}`, 'float32', shape),
    };
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

/** Declares the states of the rows as inputs of the graph. Returns the inputs by name. */
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
