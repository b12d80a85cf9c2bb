/**
 * Computes gradients of the gated delta rule with matrix products over chunks of a sequence.
 *
 * Notation for a chunk of C positions: Q, K and V are matrices with one row per position, c is the
 * cumulative sum of the decay, and D[i, j] = exp(c[i] - c[j]) for j <= i, else 0:
 *
 *     A = (beta K K^T) * D, strictly lower;  T = (I + A)^-1
 *     U = T (beta V);  W = T (beta K exp(c));  P = (Q K^T) * D;  Qd = Q exp(c);  Kd = K exp(c[C] - c)
 *     chunk by chunk:  N = U - W S;  y = Qd S + P N;  S <- exp(c[C]) S + Kd^T N
 *
 * and backwards, with R the gradient of the state after a chunk:
 *
 *     dN = P^T dy + Kd R;  R <- exp(c[C]) R + Qd^T dy - W^T dN
 *
 * Everything else is computed for all chunks at once. @see Yang et al., arXiv:2412.06464, section
 * 3.3
 */
import type { Shape } from '../graph/dims.js';
import { dimAt, type Graph, type Value } from '../graph/graph.js';
import { maskedScore } from './attention.js';
import { chunked } from './chunks.js';
import { add, exp, multiply, negate, subtract } from './elementwise.js';
import { matmul, rowDot } from './matmul.js';
import { scan } from './scan.js';
import { expand } from './select.js';
import { columns, reshape } from './shape.js';

export interface DeltaInputs {
  /** Queries and keys, [B, S, H, K]. */
  readonly q: Value;
  readonly k: Value;
  /** Values, [B, S, H, V]. */
  readonly v: Value;
  /**
   * Logarithm of the factor by which the state is multiplied at a position, at most 0. [B, S, H]
   */
  readonly decay: Value;
  /**
   * Fraction of the difference between the new and the stored value that is written to the state,
   * from 0 to 1. [B, S, H]
   */
  readonly beta: Value;
}

/** Number of positions in a chunk; a power of two. */
export const chunkLength = 64;

/**
 * Returns the gradients of queries, keys, values, decay and beta from the gradient of the result.
 * `dy` [B, S, H, V]
 */
export function deltaGradients(
  { q, k, v, decay, beta }: DeltaInputs,
  dy: Value,
  size = chunkLength,
): readonly Value[] {
  const { split, join } = chunked(v, size);
  const column = (x: Value): Value => split(reshape(x, [...x.shape, 1]));
  const chunks = forward(
    { q: split(q), k: split(k), v: split(v), decay: column(decay), beta: column(beta) },
    size,
  );
  const found = backward(chunks, split(dy), size);
  const scalars = (x: Value): Value => {
    const whole = join(reshape(x, [...x.shape.slice(0, 3), size, 1]));
    return reshape(whole, whole.shape.slice(0, -1));
  };
  return [
    join(found.dq),
    join(found.dk),
    join(found.dv),
    scalars(found.dDecay),
    scalars(found.dBeta),
  ];
}

type Chunks = ReturnType<typeof forward>;

/**
 * Splits the inputs into chunks [n, B, H, C, width], and computes the values of the forward pass
 * that the gradients need.
 */
function forward({ q, k, v, decay, beta }: DeltaInputs, size: number) {
  const { graph } = q;
  const rowShape = [...decay.shape.slice(0, 3), 1, size];
  const sumRow = matmul(
    reshape(decay, rowShape),
    triangle(graph, size, (i, j) => i <= j),
  );
  const sum = reshape(sumRow, decay.shape);
  const mask = triangle(graph, size, (i, j) => i < j, maskedScore);
  const ratio = exp(add(subtract(sum, sumRow), mask));
  const products = multiply(matmul(k, k, { transposeB: true }), ratio);
  const strict = triangle(graph, size, (i, j) => j < i);
  const a = multiply(multiply(products, beta), strict);
  const inverse = inverted(a, size);
  const fromStart = exp(sum);
  const last = columns(sumRow, size - 1, 1);
  const toEnd = exp(subtract(last, sum));
  const keys = multiply(k, multiply(beta, fromStart));
  const made = {
    ...{ q, k, v, beta, ratio, products, strict, a, inverse, fromStart, toEnd, keys },
    whole: exp(last),
    u: matmul(inverse, multiply(v, beta)),
    w: matmul(inverse, keys),
    p: multiply(matmul(q, k, { transposeB: true }), ratio),
    queries: multiply(q, fromStart),
    ends: multiply(k, toEnd),
  };
  const [states, written] = scan(
    zeroState(made),
    [made.u, made.w, made.ends, made.whole],
    (state, [u, w, ends, whole]) => {
      const n = subtract(u!, matmul(w!, state));
      const next = add(multiply(state, whole!), matmul(ends!, n, { transposeA: true }));
      return { state: next, results: [state, n] };
    },
  );
  return { ...made, states: states!, written: written! };
}

const zeroState = ({ k, v }: Pick<DeltaInputs, 'k' | 'v'>): Value =>
  expand(k.graph.scalar(0), [...k.shape.slice(1, 3), dimAt(k, -1), dimAt(v, -1)]);

function backward(chunks: Chunks, dy: Value, size: number) {
  const { q, k, v, beta, ratio, products, strict, a, inverse, fromStart, toEnd, keys } = chunks;
  const { u, w, p, queries, ends, whole, states, written } = chunks;
  const [later, dWritten] = scan(
    zeroState(chunks),
    [
      matmul(p, dy, { transposeA: true }),
      matmul(queries, dy, { transposeA: true }),
      ends,
      w,
      whole,
    ],
    (after, [own, read, endsHere, wHere, wholeHere]) => {
      const dn = add(own!, matmul(endsHere!, after));
      const erased = matmul(wHere!, dn, { transposeA: true });
      const before = subtract(add(multiply(after, wholeHere!), read!), erased);
      return { state: before, results: [after, dn] };
    },
    { reverse: true },
  ) as [Value, Value];

  const dQueries = matmul(dy, states, { transposeB: true });
  const dp = matmul(dy, written, { transposeB: true });
  const dEnds = matmul(written, later, { transposeB: true });
  const dValues = matmul(inverse, dWritten, { transposeA: true });
  const dw = negate(matmul(dWritten, states, { transposeB: true }));
  const dKeys = matmul(inverse, dw, { transposeA: true });
  const pulled = add(
    matmul(dValues, u, { transposeB: true }),
    matmul(dKeys, w, { transposeB: true }),
  );
  const da = multiply(negate(pulled), strict);
  const dProducts = multiply(multiply(da, ratio), beta);
  const dReads = multiply(dp, ratio);

  const dq = add(matmul(dReads, k), multiply(dQueries, fromStart));
  const dk = [
    matmul(dProducts, k),
    matmul(dProducts, k, { transposeA: true }),
    matmul(dReads, q, { transposeA: true }),
    multiply(dKeys, multiply(beta, fromStart)),
    multiply(dEnds, toEnd),
  ].reduce(add);
  const dBeta = [
    rowDot(da, products),
    rowDot(dValues, v),
    multiply(fromStart, rowDot(dKeys, k)),
  ].reduce(add);
  const ratios = add(multiply(da, a), multiply(dp, p));
  const dDecay = decayGradient(size, {
    ratios,
    starts: add(rowDot(dKeys, keys), rowDot(dQueries, queries)),
    ends: rowDot(dEnds, ends),
    whole: multiply(whole, sumOver(multiply(states, later), [-2, -1])),
  });
  return { dq, dk, dv: multiply(dValues, beta), dDecay, dBeta };
}

/**
 * Gradients with respect to the logarithms of the factors: D [.., C, C], exp(c) and exp(c[C] - c)
 * [.., C, 1], and exp(c[C]) [.., 1, 1].
 */
interface FactorGradients {
  readonly ratios: Value;
  readonly starts: Value;
  readonly ends: Value;
  readonly whole: Value;
}

/**
 * Returns the gradient of the decay. The logarithm of each factor is a sum of decays: for D[i, j],
 * of the decays of the positions after j up to i. The gradient of a decay is therefore the sum over
 * all factors that contain it. Summing these directly avoids differences of large sums. [.., 1, C]
 */
function decayGradient(size: number, { ratios, starts, ends, whole }: FactorGradients): Value {
  const { graph } = ratios;
  const row = (x: Value): Value => reshape(x, [...x.shape.slice(0, 3), 1, size]);
  const later = triangle(graph, size, (i, j) => i >= j);
  const before = triangle(graph, size, (i, j) => i < j);
  const crossing = multiply(matmul(ratios, before), later);
  return [
    sumOver(crossing, [-2]),
    matmul(row(starts), later),
    matmul(row(ends), before),
    whole,
  ].reduce(add);
}

/**
 * Returns (I + a)^-1 of a strictly lower triangular matrix. Inverts diagonal blocks of doubling
 * size, starting with 1 row. When the inverses T1 and T2 of two blocks are joined, the corner below
 * the diagonal is -T2 A21 T1. This is as accurate as substitution, whereas powers of `a` would
 * overflow for similar keys. [.., C, C]
 */
function inverted(a: Value, size: number): Value {
  const { graph } = a;
  const below = (half: number): Value =>
    triangle(
      graph,
      size,
      (i, j) =>
        (Math.floor(i / half) & 1) === 1 && Math.floor(j / half) === Math.floor(i / half) - 1,
    );
  let inverse = subtract(
    triangle(graph, size, (i, j) => i === j),
    multiply(a, below(1)),
  );
  for (let half = 2; half < size; half *= 2) {
    const corners = matmul(matmul(inverse, multiply(a, below(half))), inverse);
    inverse = subtract(inverse, corners);
  }
  return inverse;
}

/** Returns a matrix [C, C] that is `value` where `isIn(row, column)`, else 0. */
function triangle(
  graph: Graph,
  size: number,
  isIn: (row: number, column: number) => boolean,
  value = 1,
): Value {
  const data = Float32Array.from({ length: size * size }, (_, at) =>
    isIn(Math.floor(at / size), at % size) ? value : 0,
  );
  return graph.constant(data, [size, size]);
}

/** Sums over axes, which are counted from the end and kept with size 1. */
function sumOver(x: Value, axes: readonly number[]): Value {
  const positions = axes.map((axis) => x.shape.length + axis);
  const shape: Shape = x.shape.map((dim, i) => (positions.includes(i) ? 1 : dim));
  return x.graph.node(
    'ReduceSum',
    [x, x.graph.integers(positions)],
    { shape },
    { attributes: { keepdims: 1 } },
  );
}
