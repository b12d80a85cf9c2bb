/** Rotary position embedding. */
import { dimAt, withPullback, type Value } from '../graph/graph.js';
import { negate } from './elementwise.js';

/**
 * Cosine and sine of position times frequency, [positions, r / 2], where r is the rotary dimension.
 */
export interface RotaryTables {
  readonly cos: Value;
  readonly sin: Value;
}

/**
 * Rotates the pairs (x[i], x[i + r/2]) of the first r elements of a head by the angle position
 * times frequency i. `x` [B, H, T, D]; `positions` int64: [1] is the position of the first token of
 * every row, [B, T] are the positions of all tokens. The gradient is rotated by the negative angle,
 * because this is the transpose of a rotation.
 * @see Su et al., arXiv:2104.09864
 */
export function rotary(x: Value, positions: Value, tables: RotaryTables): Value {
  const [, heads, , width] = x.shape;
  const rotated = 2 * Number(dimAt(tables.cos, 1));
  const partial = rotated !== width && {
    num_heads: Number(heads),
    rotary_embedding_dim: rotated,
  };
  const y = x.graph.node(
    'RotaryEmbedding',
    [x, positions, tables.cos, tables.sin],
    { shape: x.shape },
    { domain: 'com.microsoft', attributes: { interleaved: 0, ...partial } },
  );
  const { graph } = x;
  return withPullback(y, [x], (g) => [
    rotary(g, positions, {
      cos: tables.cos,
      sin: graph.memo(`negated ${tables.sin.id}`, () => negate(tables.sin)),
    }),
  ]);
}
