/** Causal attention of whole sequences, with grouped key and value heads. */
import { product, type Dim } from '../graph/dims.js';
import { dimAt, withPullback, type Graph, type Value } from '../graph/graph.js';
import { add, multiply, softCap, softCapSlope, subtract } from './elementwise.js';
import { matmul } from './matmul.js';
import { expand } from './select.js';
import { columns, reshape, swapHeads } from './shape.js';

/**
 * Number that is added to the score of a masked position. The exponential of the sum is exactly 0.
 * The number is finite, so no NaN can occur.
 */
export const maskedScore = -1e9;

/** Options for computing scores from queries and keys. */
export interface AttentionOptions {
  /** Factor by which q k^T is multiplied. @default 1 / sqrt(D) */
  readonly scale?: number;
  /** Soft cap of scores, see {@link softCap}. @default no cap */
  readonly cap?: number;
  /**
   * Number of positions that a query sees, including its own.
   * @default all positions up to its own
   */
  readonly window?: number;
  /**
   * Branch of each token, int32 [B, T]. A query sees the positions up to its own that are in its
   * own branch or in branch 0.
   * @default no branches
   */
  readonly branches?: Value;
}

/**
 * Computes softmax(q k^T / sqrt(D) + causal mask) v. `q` [B, H, T, D]; `k`, `v` [B, KV, T, D] ->
 * [B, T, H, D]. Query heads h with the same h div (H / KV) share a key head. Their queries are
 * stacked into one taller matrix, so keys are never repeated.
 *
 * With scores S, P = softmax(S) and row sums D = sum(dO * O) = sum(dP * P):  dS = P * (dP - D).
 * @see Vaswani et al., arXiv:1706.03762; Ainslie et al., arXiv:2305.13245; for D, Dao et al.,
 * arXiv:2205.14135, appendix B
 */
export function causalAttention(
  q: Value,
  k: Value,
  v: Value,
  { scale, cap, window, branches }: AttentionOptions = {},
): Value {
  const { graph } = q;
  const [batch, , time, width] = q.shape as [Dim, number, Dim, number];
  const keyHeads = dimAt(k, 1) as number;
  const group = (dimAt(q, 1) as number) / keyHeads;
  const tall = [batch, keyHeads, product([group, time]), width];
  const grid = [batch, keyHeads, group, time, time];
  const alpha = scale ?? 1 / Math.sqrt(width);

  const queries = reshape(q, tall);
  const plain = scoreProduct(queries, k, alpha);
  const capped = cap === undefined ? plain : softCap(plain, cap);
  const scores = reshape(capped, grid);
  const masked = graph.node('Add', [scores, maskOf(graph, time, { window, branches })], {
    shape: grid,
  });
  const softmax = graph.node('Softmax', [masked], { shape: grid }, { attributes: { axis: -1 } });
  const weights = reshape(softmax, [...tall.slice(0, 3), time]);
  const mixed = swapHeads(reshape(matmul(weights, v), q.shape));

  return withPullback(mixed, [q, k, v], (g) => {
    const dMixed = reshape(swapHeads(g), tall);
    const dWeights = matmul(dMixed, v, { transposeB: true });
    const products = matmul(
      multiply(g, mixed),
      graph.constant(new Float32Array(width).fill(1), [width, 1]),
    );
    const rowSums = reshape(swapHeads(products), [...tall.slice(0, 3), 1]);
    const dCapped = multiply(weights, subtract(dWeights, rowSums));
    const dScores = cap === undefined ? dCapped : multiply(dCapped, softCapSlope(capped, cap));
    return [
      reshape(matmul(dScores, k, { alpha }), q.shape),
      matmul(dScores, queries, { transposeA: true, alpha }),
      matmul(weights, dMixed, { transposeA: true }),
    ];
  });
}

/** Largest width that kernels sum in one block, whatever the number of keys. */
const steadyWidth = 128;

/**
 * Divides a head's width into ranges whose products are summed one after another. Kernels sum wider
 * products in blocks whose length depends on the number of keys. With these ranges, the bits of a
 * score do not depend on the number of keys.
 */
export function steadyRanges(width: number): readonly { start: number; count: number }[] {
  return Array.from({ length: Math.ceil(width / steadyWidth) }, (_, part) => {
    const start = part * steadyWidth;
    return { start, count: Math.min(steadyWidth, width - start) };
  });
}

/** Computes alpha q k^T, summed over {@link steadyRanges}. */
function scoreProduct(queries: Value, keys: Value, alpha: number): Value {
  const ranges = steadyRanges(dimAt(keys, -1) as number);
  const product = (q: Value, k: Value): Value => matmul(q, k, { transposeB: true, alpha });
  if (ranges.length === 1) return product(queries, keys);
  return ranges
    .map(({ start, count }) => product(columns(queries, start, count), columns(keys, start, count)))
    .reduce(add);
}

/**
 * Returns the mask that is added to scores, [T, T], or [B, 1, 1, T, T] with branches. It is 0 for
 * visible positions and at most {@link maskedScore} for other positions.
 */
function maskOf(
  graph: Graph,
  time: Dim,
  { window, branches }: Pick<AttentionOptions, 'window' | 'branches'>,
): Value {
  const causal = causalMask(graph, time, window);
  if (branches === undefined) return causal;
  return graph.memo(`branch mask ${window ?? ''}`, () => {
    const batch = dimAt(branches, 0);
    const shape = [batch, 1, 1, time, time];
    const query = reshape(branches, [batch, 1, 1, time, 1]);
    const key = reshape(branches, [batch, 1, 1, 1, time]);
    const test = (type: string, a: Value, b: Value): Value =>
      graph.node(type, [a, b], { shape, dtype: 'bool' });
    const isShared = test('Equal', key, graph.constant(Int32Array.of(0), []));
    const isSeen = test('Or', test('Equal', query, key), isShared);
    const options = [isSeen, graph.scalar(0), graph.scalar(maskedScore)];
    const mask = graph.node('Where', options, { shape, dtype: 'float32' });
    return graph.node('Add', [mask, causal], { shape });
  });
}

/**
 * Returns a mask [T, T] that is 0 for the positions that a query sees: those up to its own, within
 * the window. It is at most {@link maskedScore} for other positions.
 */
function causalMask(graph: Graph, time: Dim, window: number | undefined): Value {
  const shape = [time, time];
  const triangle = (upper: 0 | 1, diagonal: number): Value => {
    const full = expand(graph.scalar(maskedScore), shape);
    const bound = graph.constant(BigInt64Array.of(BigInt(diagonal)), []);
    return graph.node('Trilu', [full, bound], { shape }, { attributes: { upper } });
  };
  const future = graph.memo(`causal mask ${time}`, () => triangle(1, 1));
  if (window === undefined) return future;
  return graph.memo(`causal mask ${time} of ${window}`, () =>
    graph.node('Add', [future, triangle(0, -window)], { shape }),
  );
}
