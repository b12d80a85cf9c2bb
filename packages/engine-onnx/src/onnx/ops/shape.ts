/** Operators that rearrange elements without changing them. */
import { sameShape, type Dim, type Shape } from '../graph/dims.js';
import { dimAt, withPullback, type Value } from '../graph/graph.js';

/** Value from which each reshaped value was made, keyed by the reshaped value. */
const originals = new WeakMap<Value, Value>();

/**
 * Returns the same elements in another shape. Consecutive reshapes become one node, which copies
 * nothing.
 */
export function reshape(a: Value, shape: Shape): Value {
  if (sameShape(a.shape, shape)) return a;
  const original = originals.get(a);
  // Other code may have replaced the gradient rule of `a`, which would be lost by skipping `a`.
  if (original !== undefined && a.source?.inputs[0] === original) return reshape(original, shape);
  const target = reshapeTarget(a, shape);
  const y = withPullback(a.graph.node('Reshape', [a, target], { shape }), [a], (g) => [
    reshape(g, a.shape),
  ]);
  originals.set(y, a);
  return y;
}

/** Permutes the axes: axis i of the result is axis `permutation[i]` of `a`. */
export function transpose(a: Value, permutation: readonly number[]): Value {
  const y = a.graph.node(
    'Transpose',
    [a],
    { shape: permutation.map((axis) => a.shape[axis]!) },
    { attributes: { perm: permutation } },
  );
  const inverse = permutation.map((_, i) => permutation.indexOf(i));
  return withPullback(y, [a], (g) => [transpose(g, inverse)]);
}

/**
 * Swaps positions and heads: [B, S, H, D] <-> [B, H, S, D]. With a single position or head this is
 * a reshape.
 */
export function swapHeads(x: Value): Value {
  const [batch, second, third, width] = x.shape as [Dim, Dim, Dim, Dim];
  return second === 1 || third === 1
    ? reshape(x, [batch, third, second, width])
    : transpose(x, [0, 2, 1, 3]);
}

/** Returns `count` columns of the last dimension, from `start` on. */
export function columns(a: Value, start: number, count: number): Value {
  const { graph } = a;
  const axis = a.shape.length - 1;
  const [from, to] = [graph.integers([start]), graph.integers([start + count])];
  const shape = a.shape.with(axis, count);
  const y = graph.node('Slice', [a, from, to, graph.integers([axis])], { shape });
  const rest = Number(dimAt(a, axis)) - start - count;
  const none = a.shape.slice(0, -1).map(() => 0);
  return withPullback(y, [a], (g) => [
    graph.node('Pad', [g, graph.integers([...none, start, ...none, rest])], { shape: a.shape }),
  ]);
}

/**
 * Concatenates values along `axis`. `size` is the size of the result along this axis. Has no
 * gradient, because it is only used in gradients and in graphs without gradients.
 */
export function concat(values: readonly Value[], axis: number, size: Shape[number]): Value {
  const first = values[0]!;
  if (values.length === 1) return first;
  return first.graph.node(
    'Concat',
    values,
    { shape: first.shape.with(axis, size) },
    { attributes: { axis } },
  );
}

/**
 * Takes rows of a matrix: y[r] = a[rows[r]]. `a` is [N, d]; the entries of `rows` [R] differ,
 * except for padding. `spread` [N] gives, for every row of `a`, the row of the result that was taken
 * from it, or a row whose gradient is 0. With `spread`, the gradient is gathered too, never
 * scattered, so that its order of summation is fixed.
 */
export function takeRows(a: Value, rows: Value, spread?: Value): Value {
  const y = gather(a, rows);
  return spread ? withPullback(y, [a], (g) => [gather(g, spread)]) : y;
}

/**
 * Takes rows of a matrix; a row may be taken repeatedly. Has no gradient. `a` [N, d], `ids` [...]
 * -> [..., d]
 */
export function gather(a: Value, ids: Value): Value {
  return a.graph.node(
    'Gather',
    [a, ids],
    { shape: [...ids.shape, ...a.shape.slice(1)] },
    { attributes: { axis: 0 } },
  );
}

/**
 * Returns the target shape for ONNX's Reshape: 0 keeps the dimension at the same index, and -1
 * marks the one size that is inferred. If several sizes are unknown, the graph computes the shape.
 */
function reshapeTarget(a: Value, shape: Shape): Value {
  const target = shape.map((dim, i) =>
    typeof dim === 'number' ? dim : a.shape[i] === dim ? 0 : -1,
  );
  const unknown = target.filter((dim) => dim === -1).length;
  return unknown <= 1 ? a.graph.integers(target) : a.graph.shapeTensor(shape);
}
