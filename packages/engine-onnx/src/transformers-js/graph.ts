/**
 * The graph that transformers.js executes. It reads whole prompts or single tokens, with a cache
 * that the caller keeps, and contains the weights.
 *
 * B rows, S new tokens, P cached ones, T = P + S, KV key heads, D head width, K taps of a
 * convolution, d hidden size, V vocabulary
 *
 * | name                          | type               |     | meaning                                             |
 * | ----------------------------- | ------------------ | --- | --------------------------------------------------- |
 * | `input_ids`                   | i64 [B, S]         | in  | left padded                                         |
 * | `attention_mask`              | i64 [B, T]         | in  | 0 for padding                                       |
 * | `position_ids`                | i64 [B, S]         | in  |                                                     |
 * | `num_logits_to_keep`          | i64 []             | in  | last positions that get logits; 0 = all             |
 * | `past_key_values.<l>.key`     | f32 [B, KV, P, D]  | in  | and `.value`: cache of layer l                      |
 * | `past_conv.<l>`               | f32 [B, d, K]      | in  | the last positions that the convolution of layer l read; the first is not used |
 * | `logits`                      | f32 [B, .., V]     | out |                                                     |
 * | `present.<l>.key`             | f32 [B, KV, T, D]  | out | and `.value`: the cache with the new tokens         |
 * | `present_conv.<l>`            | f32 [B, d, K]      | out | the last positions, with the new tokens             |
 */
import { Graph, type Value } from '../onnx/graph/graph.js';
import { multiply, softCap } from '../onnx/ops/elementwise.js';
import { maskedScore } from '../onnx/ops/attention.js';
import { matmul } from '../onnx/ops/matmul.js';
import { cast } from '../onnx/ops/select.js';
import { columns, concat, reshape, swapHeads, transpose } from '../onnx/ops/shape.js';
import { attentionOptions } from '../model/attend.js';
import { decoder } from '../model/block.js';
import type { ModelConfig } from '../model/config.js';
import { finalNorm, headLogits, headWeight } from '../model/head.js';
import { rowStates } from '../model/row-states.js';
import { project, type Attention, type Recurrence, type Trunk } from '../model/trunk.js';

/** Name of the batch dimension, from which transformers.js derives the size of an empty cache. */
const batch = 'batch_size';

/** Weights of a model as constants of a graph, all in one data type. */
export interface StoredWeights extends Pick<Trunk, 'parameters' | 'products' | 'tables'> {
  /** Looks up rows of the embedding matrix. `ids` int64 [B, S] -> f32 [B, S, d] */
  readonly embed: (ids: Value) => Value;
}

/** Returns an ONNX file in parts. @param store adds the weights to the graph */
export async function transformersGraph(
  config: ModelConfig,
  store: (graph: Graph) => Promise<StoredWeights>,
): Promise<readonly Uint8Array[]> {
  const graph = new Graph();
  const ids = graph.input('input_ids', 'int64', [batch, 'S']);
  const mask = graph.input('attention_mask', 'int64', [batch, 'T']);
  const positions = graph.input('position_ids', 'int64', [batch, 'S']);
  const kept = graph.input('num_logits_to_keep', 'int64', []);
  const { embed, ...weights } = await store(graph);
  const attention: Attention = (layer, q, k, v) => {
    const [keys, values] = [grown(graph, layer, 'key', k), grown(graph, layer, 'value', v)];
    return attendCached(config, layer, { q, keys, values, mask });
  };
  const trunk: Trunk = {
    config,
    positions,
    attention,
    recurrence: cachedRecurrence(graph, config, mask),
    ...weights,
  };
  const x = lastRows(decoder(trunk, { x: embed(ids) }), kept);
  const product = project(trunk, finalNorm(trunk, x), headWeight(trunk));
  graph.output('logits', headLogits(trunk, product, graph.scalar(1)).logits);
  return graph.encodeParts();
}

/**
 * Creates a recurrence that reads and writes cached states. Padding comes before a sequence. Its
 * inputs are set to 0, so it has the same effect as the positions before the start of a row.
 */
function cachedRecurrence(graph: Graph, config: ModelConfig, mask: Value): Recurrence {
  const shapes = new Map(rowStates(config).map(({ name, shape }) => [name, shape]));
  return (name, inputs, step) => {
    const [kept = 0, width = 0] = shapes.get(name) ?? [];
    // The format keeps one position more than a convolution reads.
    const past = graph.input(`past_${name}`, 'float32', [batch, width, kept + 1]);
    const read = inputs.map((x) => multiply(x, realTokens(graph, mask)));
    const { y, state } = step(read, transpose(columns(past, 1, kept), [0, 2, 1]));
    const present = [columns(past, 0, 1), transpose(state, [0, 2, 1])];
    graph.output(`present_${name}`, concat(present, 2, kept + 1));
    return y;
  };
}

/** Returns 1 for each new token that is not padding, else 0. [B, S, 1] */
function realTokens(graph: Graph, mask: Value): Value {
  return graph.memo('real tokens', () => {
    const start = graph.node('Neg', [graph.size('S')], { shape: [1] });
    const end = graph.constant(BigInt64Array.of(2n ** 62n), [1]);
    const last = graph.node('Slice', [mask, start, end, graph.integers([1])], {
      shape: [batch, 'S'],
    });
    return reshape(cast(last, 'float32'), [batch, 'S', 1]);
  });
}

/**
 * Appends the keys or values of the new tokens to the cache of a layer. `added` [B, KV, S, D] ->
 * [B, KV, T, D]
 */
function grown(graph: Graph, layer: number, name: 'key' | 'value', added: Value): Value {
  const shape = added.shape.with(2, 'P');
  const past = graph.input(`past_key_values.${layer}.${name}`, 'float32', shape);
  const present = concat([past, added], 2, 'T');
  graph.output(`present.${layer}.${name}`, present);
  return present;
}

interface Attended {
  /** Queries of the new tokens. [B, H, S, D] */
  readonly q: Value;
  /** Keys of all tokens. [B, KV, T, D] */
  readonly keys: Value;
  readonly values: Value;
  /** 0 for padding. int64 [B, T] */
  readonly mask: Value;
}

/**
 * Computes attention over a cache. Query heads that share a key head form a separate dimension, so
 * keys are not repeated. -> [B, S, H, D]
 */
function attendCached(
  config: ModelConfig,
  layer: number,
  { q, keys, values, mask }: Attended,
): Value {
  const { graph } = q;
  const { heads, kvHeads, headDim } = config;
  const { scale, cap, window } = attentionOptions(config, layer);
  const group = heads / kvHeads;
  const grid = [batch, kvHeads, group, 'S', 'T'];
  const shared = (x: Value): Value => reshape(x, [batch, kvHeads, 1, 'T', headDim]);
  const queries = reshape(q, [batch, kvHeads, group, 'S', headDim]);
  const alpha = scale ?? 1 / Math.sqrt(headDim);
  const plain = matmul(queries, shared(keys), { transposeB: true, alpha });
  const capped = cap === undefined ? plain : softCap(plain, cap);
  const options = [visible(graph, mask, window), capped, graph.scalar(maskedScore)];
  const masked = graph.node('Where', options, { shape: grid, dtype: 'float32' });
  const softmax = graph.node('Softmax', [masked], { shape: grid }, { attributes: { axis: -1 } });
  return swapHeads(reshape(matmul(softmax, shared(values)), [batch, heads, 'S', headDim]));
}

/**
 * Returns bool [B, 1, 1, S, T]. It is true for tokens that are not padding, up to the query's
 * position and within the window.
 */
function visible(graph: Graph, mask: Value, window: number | undefined): Value {
  return graph.memo(`visible ${window ?? ''}`, () => {
    const number = (value: number): Value => graph.constant(BigInt64Array.of(BigInt(value)), []);
    const scalar = (symbol: string): Value => reshape(graph.size(symbol), []);
    const node = (
      type: string,
      inputs: readonly Value[],
      shape: Value['shape'],
      dtype?: 'bool',
    ): Value => graph.node(type, inputs, { shape, dtype });
    const [total, added] = [scalar('T'), scalar('S')];
    const key = node('Range', [number(0), total, number(1)], ['T']);
    const first = node('Sub', [total, added], []);
    const query = reshape(node('Range', [first, total, number(1)], ['S']), ['S', 1]);
    const before = node('LessOrEqual', [key, query], ['S', 'T'], 'bool');
    const near =
      window === undefined
        ? before
        : node(
            'And',
            [
              before,
              node(
                'Greater',
                [key, node('Sub', [query, number(window)], ['S', 1])],
                ['S', 'T'],
                'bool',
              ),
            ],
            ['S', 'T'],
            'bool',
          );
    const real = node(
      'Greater',
      [reshape(mask, [batch, 1, 1, 1, 'T']), number(0)],
      [batch, 1, 1, 1, 'T'],
      'bool',
    );
    return node('And', [near, real], [batch, 1, 1, 'S', 'T'], 'bool');
  });
}

/** Returns the last `count` positions of `x` [B, S, d], or all positions if `count` is 0. */
function lastRows(x: Value, count: Value): Value {
  const { graph } = x;
  const start = graph.node('Neg', [reshape(count, [1])], { shape: [1] });
  const end = graph.constant(BigInt64Array.of(2n ** 62n), [1]);
  return graph.node('Slice', [x, start, end, graph.integers([1])], {
    shape: [batch, 'kept', x.shape[2] ?? 0],
  });
}
