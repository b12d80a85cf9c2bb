/** Elementwise operators with broadcasting. */
import { broadcastShape, sameShape, type Shape } from '../graph/dims.js';
import { withPullback, type Value } from '../graph/graph.js';
import { reshape } from './shape.js';

/** a + b */
export function add(a: Value, b: Value): Value {
  return withPullback(binary('Add', a, b), [a, b], (g) => [
    unbroadcast(g, a.shape),
    unbroadcast(g, b.shape),
  ]);
}

/** a - b */
export function subtract(a: Value, b: Value): Value {
  return withPullback(binary('Sub', a, b), [a, b], (g) => [
    unbroadcast(g, a.shape),
    unbroadcast(negate(g), b.shape),
  ]);
}

/** a * b */
export function multiply(a: Value, b: Value): Value {
  return withPullback(binary('Mul', a, b), [a, b], (g) => [
    unbroadcast(multiply(g, b), a.shape),
    unbroadcast(multiply(g, a), b.shape),
  ]);
}

/** -a */
export function negate(a: Value): Value {
  return withPullback(unary('Neg', a), [a], (g) => [negate(g)]);
}

/** e^a */
export function exp(a: Value): Value {
  const y = unary('Exp', a);
  return withPullback(y, [a], (g) => [multiply(g, y)]);
}

/** 1 / (1 + e^-a) */
export function sigmoid(a: Value): Value {
  const y = unary('Sigmoid', a);
  return withPullback(y, [a], (g) => [multiply(g, subtract(y, multiply(y, y)))]);
}

/**
 * Gated linear unit of SwiGLU: silu(gate) * up, with silu(x) = x s and s = sigmoid(x). Its gradient
 * reuses the product y: dL/dgate = g (y + s (up - y)), one pass less than the textbook form.
 * @see Shazeer, arXiv:2002.05202
 */
export function swiglu(gate: Value, up: Value): Value {
  const s = unary('Sigmoid', gate);
  const silu = binary('Mul', gate, s);
  const y = binary('Mul', silu, up);
  return withPullback(y, [gate, up], (g) => [
    multiply(g, binary('Add', y, binary('Mul', s, binary('Sub', up, y)))),
    multiply(g, silu),
  ]);
}

/** Sums a gradient over the axes along which `shape` was repeated. */
export function unbroadcast(gradient: Value, shape: Shape): Value {
  if (sameShape(gradient.shape, shape)) return gradient;
  const { graph } = gradient;
  const lead = gradient.shape.length - shape.length;
  const axes = gradient.shape.flatMap((dim, i) =>
    i < lead || (shape[i - lead] === 1 && dim !== 1) ? [i] : [],
  );
  const summed = graph.node(
    'ReduceSum',
    [gradient, graph.integers(axes)],
    { shape: gradient.shape.map((dim, i) => (axes.includes(i) ? 1 : dim)) },
    { attributes: { keepdims: 1 } },
  );
  return reshape(summed, shape);
}

function binary(type: string, a: Value, b: Value): Value {
  return a.graph.node(type, [a, b], { shape: broadcastShape(a.shape, b.shape) });
}

function unary(type: string, a: Value): Value {
  return a.graph.node(type, [a], { shape: a.shape });
}
