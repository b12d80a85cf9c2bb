/** Splits sequences into chunks of equal length. */
import { dimAt, type Graph, type Value } from '../graph/graph.js';
import { concat, reshape, transpose } from './shape.js';

export interface Chunked {
  /** Splits [B, S, H, width] into [n, B, H, C, width]. The last chunk is padded with zeros. */
  readonly split: (x: Value) => Value;
  /** The inverse of {@link split}. */
  readonly join: (x: Value) => Value;
}

/**
 * Returns operations that split tensors into chunks of `size` positions, and join them again. The
 * tensors must have the batch size, length and number of heads of the given value [B, S, H, ...].
 * The operations have no gradient.
 */
export function chunked({ graph, shape }: Value, size: number): Chunked {
  const [batch, time, heads] = shape as [string, string, number];
  const order = [1, 0, 3, 2, 4];
  return {
    split: (x) => {
      const width = Number(dimAt(x, 3));
      const flat = reshape(x, [batch, time, heads * width]);
      const padded = graph.node('Pad', [flat, padding(graph, time, size)], {
        shape: [batch, 'padded', heads * width],
      });
      return transpose(reshape(padded, [batch, 'chunks', size, heads, width]), order);
    },
    join: (x) => {
      const width = Number(dimAt(x, 4));
      const flat = reshape(transpose(x, order), [batch, 'padded', heads * width]);
      const bounds = [graph.integers([0]), graph.size(time), graph.integers([1])];
      const cut = graph.node('Slice', [flat, ...bounds], { shape: [batch, time, heads * width] });
      return reshape(cut, [batch, time, heads, width]);
    },
  };
}

/** Returns the paddings for [B, S, d] that round S up to a multiple of `size`. int64 [6] */
function padding(graph: Graph, time: string, size: number): Value {
  return graph.memo(`padding of ${time} to ${size}`, () => {
    const int64 = { shape: [1], dtype: 'int64' } as const;
    const missing = graph.node('Neg', [graph.size(time)], int64);
    const rest = graph.node('Mod', [missing, graph.integers([size])], int64);
    return concat([graph.integers([0, 0, 0, 0]), rest, graph.integers([0])], 0, 6);
  });
}
