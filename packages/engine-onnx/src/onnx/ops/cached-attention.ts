/**
 * Attention of one new token per row to a cache and to the token itself. Rounds exactly like {@link
 * causalAttention}.
 */
import type { Dim } from '../graph/dims.js';
import { dimAt, type Graph, type Value } from '../graph/graph.js';
import { maskedScore, steadyRanges, type AttentionOptions } from './attention.js';
import { add, multiply, softCap } from './elementwise.js';
import { matmul } from './matmul.js';
import { cast, expand, gatherElements, scatterElements } from './select.js';
import { concat, reshape, swapHeads } from './shape.js';

/**
 * Cached keys and values, [B, KV, M, D] each. Slots from the row's position on may hold any finite
 * numbers.
 */
export interface PastKeyValues {
  readonly k: Value;
  readonly v: Value;
}

/**
 * Computes softmax(q [past k; k]^T / sqrt(D)) [past v; v]. `q` [B, H, 1, D]; `k`, `v` [B, KV, 1,
 * D]; `positions` int32 [B, 1] -> [B, 1, H, D].
 *
 * The token's own score is put into the slot of its position, so that the softmax sums the same
 * numbers in the same order as in training. The token's own value is added by a product [I, p]
 * [mixed; v]. That product adds a single fused multiply-add as the last step of the same sum.
 * Sampled and trained log-probabilities are then equal to the last bit wherever the matrix kernels
 * sum in the same order.
 */
export function cachedAttention(
  q: Value,
  k: Value,
  v: Value,
  past: PastKeyValues,
  positions: Value,
  { scale, cap, window }: AttentionOptions = {},
): Value {
  const { graph } = q;
  const [batch, keyHeads, capacity, width] = past.k.shape as [Dim, number, Dim, number];
  const group = (dimAt(q, 1) as number) / keyHeads;
  const tall = [batch, keyHeads, group, width];
  const grid = [batch, keyHeads, group, capacity];
  const alpha = scale ?? 1 / Math.sqrt(width);
  const score = (keys: Value): Value => {
    const plain = scoreProduct(queries, keys, alpha);
    return cap === undefined ? plain : softCap(plain, cap);
  };
  const slot = ownSlot(graph, positions, [batch, keyHeads, group, 1]);

  const queries = reshape(q, tall);
  const pastScores = graph.node(
    'Add',
    [score(past.k), pastMask(graph, positions, [batch, 1, 1, capacity], window)],
    { shape: grid },
  );
  const scores = scatterElements(pastScores, slot, score(k), { axis: -1 });
  const weights = graph.node('Softmax', [scores], { shape: grid }, { attributes: { axis: -1 } });
  const own = gatherElements(weights, slot, -1);
  const pastWeights = scatterElements(weights, slot, zeros(graph, slot), { axis: -1 });
  const mixed = mix(pastWeights, past.v);
  const left = concat([identity(graph, batch, keyHeads, group), own], 3, group + 1);
  return swapHeads(reshape(mix(left, concat([mixed, v], 2, group + 1)), q.shape));
}

/**
 * Computes alpha q k^T for few queries [B, KV, G, D], summed over {@link steadyRanges}. To avoid
 * copying ranges of the cached keys, copies the queries once per range and sets them to 0 outside
 * the range. The zeros do not change a sum.
 */
function scoreProduct(queries: Value, keys: Value, alpha: number): Value {
  const { graph } = queries;
  const [batch, heads, group, width] = queries.shape as [Dim, number, number, number];
  const ranges = steadyRanges(width);
  const product = (q: Value): Value => matmul(q, keys, { transposeB: true, alpha });
  if (ranges.length === 1) return product(queries);
  const parts = ranges.length;
  const inRange = Float32Array.from({ length: parts * width }, (_, i) => {
    const { start, count } = ranges[Math.floor(i / width)]!;
    return i % width >= start && i % width < start + count ? 1 : 0;
  });
  const mask = graph.constant(inRange, [parts, 1, width]);
  const masked = multiply(reshape(queries, [batch, heads, 1, group, width]), mask);
  const all = product(reshape(masked, [batch, heads, parts * group, width]));
  const sums = graph.nodes(
    'Split',
    [all],
    ranges.map(() => ({ shape: all.shape.with(2, group) })),
    { attributes: { axis: 2, num_outputs: parts } },
  );
  return sums.reduce(add);
}

/**
 * Multiplies weights by values. A single row is passed as a column that the kernel transposes.
 * Passed as a row, it would be computed as a matrix-vector product, which sums in another order.
 */
function mix(weights: Value, values: Value): Value {
  const [batch, heads, rows, inner] = weights.shape as [Dim, number, number, Dim];
  return rows === 1
    ? matmul(reshape(weights, [batch, heads, inner, 1]), values, { transposeA: true })
    : matmul(weights, values);
}

/** Returns the position of the new token for each row of scores. int32 [B, KV, G, 1] */
function ownSlot(graph: Graph, positions: Value, shape: readonly [Dim, number, number, 1]): Value {
  const [batch] = shape;
  return graph.memo('own slot', () => {
    const column = reshape(positions, [batch, 1, 1, 1]);
    return expand(column, shape);
  });
}

/**
 * Returns a mask that is 0 for slots before the row's position and within its window, and
 * {@link maskedScore} for other slots. [B, 1, 1, M]
 */
function pastMask(
  graph: Graph,
  positions: Value,
  shape: readonly [Dim, 1, 1, Dim],
  window: number | undefined,
): Value {
  return graph.memo(`past mask ${window ?? ''}`, () => {
    const slots = slotNumbers(graph, shape[3]);
    const own = reshape(positions, [shape[0], 1, 1, 1]);
    const test = (type: string, inputs: readonly Value[]): Value =>
      graph.node(type, inputs, { shape, dtype: 'bool' });
    const before = test('Less', [slots, own]);
    const seen = window === undefined ? before : test('And', [before, isWithin(window)]);
    return graph.node('Where', [seen, graph.scalar(0), graph.scalar(maskedScore)], {
      shape,
      dtype: 'float32',
    });

    function isWithin(size: number): Value {
      const first = graph.constant(Int32Array.of(size), []);
      return test('Greater', [slots, graph.node('Sub', [own, first], { shape: own.shape })]);
    }
  });
}

/** Returns the slot numbers from 0 on, as int32 [M]. */
function slotNumbers(graph: Graph, capacity: Dim): Value {
  return graph.memo('slots', () => {
    const bound = cast(graph.size(String(capacity)), 'int32');
    const limit = graph.node('Squeeze', [bound], { shape: [] });
    const [zero, one] = [
      graph.constant(Int32Array.of(0), []),
      graph.constant(Int32Array.of(1), []),
    ];
    return graph.node('Range', [zero, limit, one], { shape: [capacity] });
  });
}

function zeros(graph: Graph, slot: Value): Value {
  return graph.memo('own zeros', () => expand(graph.scalar(0), slot.shape));
}

/** Returns one identity matrix per row and key head. [B, KV, G, G] */
function identity(graph: Graph, batch: Dim, keyHeads: number, group: number): Value {
  return graph.memo('identity', () => {
    const eye = Float32Array.from({ length: group * group }, (_, i) =>
      i % (group + 1) === 0 ? 1 : 0,
    );
    return expand(graph.constant(eye, [group, group]), [batch, keyHeads, group, group]);
  });
}
