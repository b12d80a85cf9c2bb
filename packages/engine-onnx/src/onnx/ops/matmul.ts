/**
 * Matrix products. The kernels transpose operands themselves, so the graph contains no transposed
 * copies.
 */
import { InvariantError } from '@trinity-rft/core';
import { product } from '../graph/dims.js';
import { dimAt, withPullback, type Value } from '../graph/graph.js';
import { multiply, unbroadcast } from './elementwise.js';
import { concat, reshape, transpose } from './shape.js';

export interface MatmulOptions {
  readonly transposeA?: boolean;
  readonly transposeB?: boolean;
  /** Factor by which the product is multiplied. @default 1 */
  readonly alpha?: number;
}

/**
 * Computes alpha op(a) op(b) over the last two dimensions, where op transposes an operand if the
 * options say so. `b` has the leading dimensions of `a`, or is a single matrix that every matrix in
 * `a` is multiplied by.
 */
export function matmul(a: Value, b: Value, options: MatmulOptions = {}): Value {
  const { transposeA = false, transposeB = false, alpha = 1 } = options;
  const y = plainProduct(a, b, { transposeA, transposeB, alpha });
  const shared = b.shape.length === 2 && a.shape.length > 2;
  if (shared && transposeA)
    throw new InvariantError(
      'A transposed batch cannot be multiplied by one shared matrix; transpose the matrix instead.',
    );
  return withPullback(y, [a, b], (g) => {
    const da = transposeA
      ? plainProduct(b, g, { transposeA: transposeB, transposeB: true, alpha })
      : plainProduct(g, b, { transposeA: false, transposeB: !transposeB, alpha });
    if (shared) return [da, sharedGradient(flatten(a), flatten(g), transposeB, alpha)];
    const db = transposeB
      ? plainProduct(g, a, { transposeA: true, transposeB: transposeA, alpha })
      : plainProduct(a, g, { transposeA: !transposeA, transposeB: false, alpha });
    return [da, db];
  });
}

/**
 * Computes x W^T + bias. Weights are stored [out, in], as in Hugging Face models. `x` [..., in],
 * `weight` [out, in], `bias` [out]
 */
export function linear(x: Value, weight: Value, bias?: Value): Value {
  const y = matmul(x, weight, { transposeB: true });
  if (!bias) return y;
  const sum = y.graph.node('Add', [y, bias], { shape: y.shape });
  return withPullback(sum, [y, bias], (g) => [g, unbroadcast(g, bias.shape)]);
}

/** The trained low-rank factors of a weight: base + scale b a. */
export interface LowRank {
  /** Factor that is applied to the input first. [r, in] */
  readonly a: Value;
  /** Factor that is applied to the result of `a`. [out, r] */
  readonly b: Value;
  readonly scale: number;
}

/**
 * Computes {@link linear} with a `weight` that already contains the product of the factors. The
 * weight and the bias have no gradients. With s = scale, dL/da = s (g b)^T x and dL/db = s g^T (x
 * a^T), so the gradient of the whole matrix is never computed.
 * @see Hu et al., arXiv:2106.09685, section 4.1
 */
export function lowRankLinear(
  x: Value,
  weight: Value,
  bias: Value | undefined,
  { a, b, scale }: LowRank,
): Value {
  const product = plainProduct(x, weight, { transposeA: false, transposeB: true, alpha: 1 });
  const y = bias ? x.graph.node('Add', [product, bias], { shape: product.shape }) : product;
  return withPullback(y, [x, a, b], (g) => {
    const narrow = plainProduct(g, b, { transposeA: false, transposeB: false, alpha: 1 });
    const inner = plainProduct(x, a, { transposeA: false, transposeB: true, alpha: 1 });
    return [
      plainProduct(g, weight, { transposeA: false, transposeB: false, alpha: 1 }),
      sharedGradient(flatten(narrow), flatten(x), false, scale),
      sharedGradient(flatten(inner), flatten(g), true, scale),
    ];
  });
}

/**
 * Computes scale b a x, which the low-rank factors add to a layer's result.
 * @param layer computes x W^T
 */
export function lowRankProduct(x: Value, { a, b, scale }: LowRank, layer = linear): Value {
  return layer(multiply(layer(x, a), x.graph.scalar(scale)), b);
}

/**
 * Computes {@link linear} without a gradient, in parts of `sizes` columns. Each part is a separate
 * product, rounded like a layer that has only these columns.
 */
export function linearInParts(
  x: Value,
  weight: Value,
  bias: Value | undefined,
  sizes: readonly number[],
): Value {
  const [columns, depth] = weight.shape as [number, number];
  const { graph } = x;
  const parts = graph.nodes(
    'Split',
    [weight, graph.integers(sizes)],
    sizes.map((size) => ({ shape: [size, depth] })),
    { attributes: { axis: 0 } },
  );
  const products = parts.map((part) =>
    plainProduct(x, part, { transposeA: false, transposeB: true, alpha: 1 }),
  );
  const y = concat(products, x.shape.length - 1, columns);
  return bias ? graph.node('Add', [y, bias], { shape: y.shape }) : y;
}

/**
 * Computes dot products of rows: the sum of a * b over the last dimension, kept with size 1. Takes
 * one pass over the operands without storing their elementwise product. Has no gradient.
 */
export function rowDot(a: Value, b: Value): Value {
  const lead = a.shape.slice(0, -1);
  const width = dimAt(a, -1);
  const rows = [...lead, 1, width];
  return reshape(
    plainProduct(reshape(a, rows), reshape(b, rows), {
      transposeA: false,
      transposeB: true,
      alpha: 1,
    }),
    [...lead, 1],
  );
}

/**
 * Number of columns of the right operand that the kernel computes at a time. The kernel transposes
 * the left operand again for every such group of columns.
 */
const bandWidth = 128;

/**
 * Minimum share of the work that must be saved to make up for transposing the result, which is done
 * by a single thread.
 */
const leastSaving = 0.75;

/**
 * Computes dL/db of a matrix that is shared by all rows. If the kernel has to transpose much less
 * for the transposed gradient, computes that gradient and transposes it back. `a` [rows, K], `g`
 * [rows, N] -> [K, N], or [N, K] with `turned`
 */
function sharedGradient(a: Value, g: Value, turned: boolean, alpha: number): Value {
  const effort = (left: Value, right: Value) =>
    Number(dimAt(left, 1)) * Math.ceil(Number(dimAt(right, 1)) / bandWidth);
  const [direct, swapped] = turned ? [effort(g, a), effort(a, g)] : [effort(a, g), effort(g, a)];
  const swap = swapped <= (1 - leastSaving) * direct;
  const [left, right] = turned !== swap ? [g, a] : [a, g];
  const found = plainProduct(left, right, { transposeA: true, transposeB: false, alpha });
  return swap ? transpose(found, [1, 0]) : found;
}

function plainProduct(a: Value, b: Value, options: Required<MatmulOptions>): Value {
  const rows = dimAt(a, options.transposeA ? -1 : -2);
  const columns = dimAt(b, options.transposeB ? -2 : -1);
  const shape = [...a.shape.slice(0, -2), rows, columns];
  if (!options.transposeA && !options.transposeB && options.alpha === 1)
    return a.graph.node('MatMul', [a, b], { shape });
  return a.graph.node(
    'FusedMatMul',
    [a, b],
    { shape },
    {
      domain: 'com.microsoft',
      attributes: {
        transA: Number(options.transposeA),
        transB: Number(options.transposeB),
        alpha: { float: options.alpha },
      },
    },
  );
}

function flatten(a: Value): Value {
  return reshape(a, [product(a.shape.slice(0, -1)), dimAt(a, -1)]);
}
