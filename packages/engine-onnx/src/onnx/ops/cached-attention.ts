/**
 * Attention of one new token per row over a cache and itself, rounded exactly like
 * {@link causalAttention}.
 */
import type { Dim } from '../graph/dims.js';
import { dimAt, type Graph, type Value } from '../graph/graph.js';
import { maskedScore } from './attention.js';
import { matmul } from './matmul.js';
import { cast, expand, gatherElements, scatterElements } from './select.js';
import { concat, reshape, swapHeads } from './shape.js';

/** `k`, `v` [B, KV, M, D]; slots from the row's position on hold any finite numbers. */
export interface PastKeyValues {
  readonly k: Value;
  readonly v: Value;
}

/**
 * softmax(q [past k; k]^T / sqrt(D)) [past v; v]. `q` [B, H, 1, D]; `k`, `v` [B, KV, 1, D];
 * `positions` int32 [B, 1] -> [B, 1, H, D].
 *
 * The token's own score is put into the slot of its position, so that the softmax sums the same
 * numbers in the same order as in training. Its own value is added by a product [I, p] [mixed; v],
 * which is one fused multiply-add as the last step of the same sum. Sampled and trained
 * log-probabilities are then equal to the last bit wherever the matrix kernels sum in the same order.
 */
export function cachedAttention(
  q: Value,
  k: Value,
  v: Value,
  past: PastKeyValues,
  positions: Value,
): Value {
  const { graph } = q;
  const [batch, keyHeads, capacity, width] = past.k.shape as [Dim, number, Dim, number];
  const group = (dimAt(q, 1) as number) / keyHeads;
  const tall = [batch, keyHeads, group, width];
  const grid = [batch, keyHeads, group, capacity];
  const alpha = 1 / Math.sqrt(width);
  const slot = ownSlot(graph, positions, [batch, keyHeads, group, 1]);

  const queries = reshape(q, tall);
  const pastScores = graph.node(
    'Add',
    [
      matmul(queries, past.k, { transposeB: true, alpha }),
      pastMask(graph, positions, batch, capacity),
    ],
    { shape: grid },
  );
  const ownScore = matmul(queries, k, { transposeB: true, alpha });
  const scores = scatterElements(pastScores, slot, ownScore, { axis: -1 });
  const weights = graph.node('Softmax', [scores], { shape: grid }, { attributes: { axis: -1 } });
  const own = gatherElements(weights, slot, -1);
  const pastWeights = scatterElements(weights, slot, zeros(graph, slot), { axis: -1 });
  const mixed = mix(pastWeights, past.v);
  const left = concat([identity(graph, batch, keyHeads, group), own], 3, group + 1);
  return swapHeads(reshape(mix(left, concat([mixed, v], 2, group + 1)), q.shape));
}

/**
 * weights values. With one row, the left operand is passed as a column and transposed by the kernel:
 * a row would be computed as a matrix-vector product, which sums in another order.
 */
function mix(weights: Value, values: Value): Value {
  const [batch, heads, rows, inner] = weights.shape as [Dim, number, number, Dim];
  return rows === 1
    ? matmul(reshape(weights, [batch, heads, inner, 1]), values, { transposeA: true })
    : matmul(weights, values);
}

/** Position of the new token, once per score row. int32 [B, KV, G, 1] */
function ownSlot(graph: Graph, positions: Value, shape: readonly [Dim, number, number, 1]): Value {
  const [batch] = shape;
  return graph.memo('own slot', () => {
    const column = reshape(positions, [batch, 1, 1, 1]);
    return expand(column, shape);
  });
}

/** 0 for slots before the position, {@link maskedScore} from it on. [B, 1, 1, M] */
function pastMask(graph: Graph, positions: Value, batch: Dim, capacity: Dim): Value {
  return graph.memo('past mask', () => {
    const shape = [batch, 1, 1, capacity];
    const bound = cast(graph.size(String(capacity)), 'int32');
    const limit = graph.node('Squeeze', [bound], { shape: [] });
    const slots = graph.node(
      'Range',
      [graph.constant(Int32Array.of(0), []), limit, graph.constant(Int32Array.of(1), [])],
      {
        shape: [capacity],
      },
    );
    const before = graph.node('Less', [slots, reshape(positions, [batch, 1, 1, 1])], {
      shape,
      dtype: 'bool',
    });
    return graph.node('Where', [before, graph.scalar(0), graph.scalar(maskedScore)], {
      shape,
      dtype: 'float32',
    });
  });
}

function zeros(graph: Graph, slot: Value): Value {
  return graph.memo('own zeros', () => expand(graph.scalar(0), slot.shape));
}

/** One identity matrix per row and key head. [B, KV, G, G] */
function identity(graph: Graph, batch: Dim, keyHeads: number, group: number): Value {
  return graph.memo('identity', () => {
    const eye = Float32Array.from({ length: group * group }, (_, i) =>
      i % (group + 1) === 0 ? 1 : 0,
    );
    return expand(graph.constant(eye, [group, group]), [batch, keyHeads, group, group]);
  });
}
