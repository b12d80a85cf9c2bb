/**
 * Graphs of the sampler. The KV cache belongs to the caller: the graphs read it and return only new keys and values.
 *
 * B rows, S padded prompt length, M cache capacity, P table length, R picked rows, L layers, KV key heads, D head width, V vocabulary
 *
 * | name                  | type           | prefill | decode | meaning                                                              |
 * | --------------------- | -------------- | ------- | ------ | -------------------------------------------------------------------- |
 * | every parameter       | f32            | in      | in     | `WeightBuffers` feeds                                                |
 * | `rope_cos` `rope_sin` | f32 [P, D/2]   | in      | in     | `ropeTables(config, P)`, P > largest position                        |
 * | `ids`                 | i32 [B, S]     | in      |        | prompts, right padded with any valid id                              |
 * | `ids`                 | i32 [B, 1]     |         | in     | newest token of each row                                             |
 * | `positions`           | i32 [B, 1]     |         | in     | tokens of the row already cached = position of the newest token < M  |
 * | `k.<l>` `v.<l>`       | f32 [B,KV,M,D] |         | in     | cache of layer l; slots from `positions` on are ignored (finite)     |
 * | `rows`                | i32 [R]        | in      |        | flat b * S + length - 1 of prompts to continue; repeat for choices   |
 * | `inverse_temperature` | f32 [R|B, 1]   | in      | in     | 1 / temperature                                                      |
 * | `u`                   | f32 [R|B, 1]   | in      | in     | `sampled`: uniform in [0, 1)                                         |
 * | `new_kv`              | f32 [B, 2 L KV, S|1, D] | out | out  | layer-major: K heads of layer 0, V heads of layer 0, K of layer 1 .. |
 * | `token`               | i32 [R|B, 1]   | out     | out    | `sampled`: id drawn                                                  |
 * | `logprob`             | f32 [R|B, 1]   | out     | out    | `sampled`: its log-probability                                       |
 * | `logprobs`            | f32 [R|B, V]   | out     | out    | `logprobs`: the whole distribution                                   |
 *
 * Variants: `sampled` draws in the graph from the full distribution; `logprobs` returns the distribution; prefill also knows
 * `cache`: no head, so neither `rows` nor `inverse_temperature` nor `u`.
 * Feed at least two rows (B and R): one row takes another matrix kernel, whose sums are rounded in another order.
 */
import { Graph, type Value } from '../onnx/graph.js';
import { causalAttention } from '../onnx/ops/attention.js';
import { cachedAttention } from '../onnx/ops/cached-attention.js';
import { categorical } from '../onnx/ops/categorical.js';
import { concat, reshape } from '../onnx/ops/shape.js';
import { decoder, embed, parameterInputs, tableInputs, type Attention, type Trunk } from './block.js';
import type { ModelConfig } from './config.js';
import { headLogprobs, headStates } from './head.js';

export type DecodeVariant = 'sampled' | 'logprobs';
export type PrefillVariant = DecodeVariant | 'cache';

/** ONNX bytes of the graph that reads prompts. */
export function prefillGraph(config: ModelConfig, options: { readonly variant: PrefillVariant }): Uint8Array {
  const graph = new Graph();
  const ids = graph.input('ids', 'int32', ['B', 'S']);
  const cache: Value[] = [];
  const attention: Attention = (_, q, k, v) => {
    cache.push(k, v);
    return causalAttention(q, k, v);
  };
  const positions = graph.integers([0]);
  const trunk: Trunk = { config, parameters: parameterInputs(graph, config), positions, tables: tableInputs(graph, config), attention };
  const x = decoder(trunk, embed(trunk, ids));
  graph.output('new_kv', concat(cache, 1, 2 * config.layers * config.kvHeads));
  if (options.variant !== 'cache') {
    continueRows(trunk, reshape(x, ['B*S', config.hiddenSize]), graph.input('rows', 'int32', ['R']), options.variant);
  }
  return graph.encode();
}

/** ONNX bytes of the graph that reads one token per row and continues it. */
export function decodeGraph(config: ModelConfig, options: { readonly variant: DecodeVariant }): Uint8Array {
  const graph = new Graph();
  const ids = graph.input('ids', 'int32', ['B', 1]);
  const slots = graph.input('positions', 'int32', ['B', 1]);
  const cache: Value[] = [];
  const attention: Attention = (layer, q, k, v) => {
    cache.push(k, v);
    const shape = ['B', config.kvHeads, 'M', config.headDim];
    const past = { k: graph.input(`k.${layer}`, 'float32', shape), v: graph.input(`v.${layer}`, 'float32', shape) };
    return cachedAttention(q, k, v, past, slots);
  };
  const positions = graph.node('Cast', [slots], { shape: slots.shape, dtype: 'int64' }, { attributes: { to: 7 } });
  const trunk: Trunk = { config, parameters: parameterInputs(graph, config), positions, tables: tableInputs(graph, config), attention };
  const x = decoder(trunk, embed(trunk, ids));
  graph.output('new_kv', concat(cache, 1, 2 * config.layers * config.kvHeads));
  continueRows(trunk, reshape(x, ['B', config.hiddenSize]), undefined, options.variant);
  return graph.encode();
}

function continueRows(trunk: Trunk, x: Value, rows: Value | undefined, variant: DecodeVariant): void {
  const { graph } = x;
  const count = rows ? 'R' : 'B';
  const inverseTemperature = graph.input('inverse_temperature', 'float32', [count, 1]);
  const logprobs = headLogprobs(trunk, headStates(trunk, x, { ...(rows && { rows }), inverseTemperature }));
  if (variant === 'logprobs') {
    graph.output('logprobs', logprobs);
    return;
  }
  const drawn = categorical(logprobs, graph.input('u', 'float32', [count, 1]));
  graph.output('token', drawn.token);
  graph.output('logprob', drawn.logprob);
}
