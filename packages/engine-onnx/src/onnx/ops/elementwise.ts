/** Elementwise operators with broadcasting. */
import { broadcastShape, sameShape, type Shape } from '../graph/dims.js';
import { withPullback, type Value } from '../graph/graph.js';
import { columns, reshape } from './shape.js';

/** Returns a + b. */
export function add(a: Value, b: Value): Value {
  return withPullback(binary('Add', a, b), [a, b], (g) => [
    unbroadcast(g, a.shape),
    unbroadcast(g, b.shape),
  ]);
}

/** Returns a - b. */
export function subtract(a: Value, b: Value): Value {
  return withPullback(binary('Sub', a, b), [a, b], (g) => [
    unbroadcast(g, a.shape),
    unbroadcast(negate(g), b.shape),
  ]);
}

/** Returns a * b. */
export function multiply(a: Value, b: Value): Value {
  return withPullback(binary('Mul', a, b), [a, b], (g) => [
    unbroadcast(multiply(g, b), a.shape),
    unbroadcast(multiply(g, a), b.shape),
  ]);
}

/** Returns -a. */
export function negate(a: Value): Value {
  return withPullback(unary('Neg', a), [a], (g) => [negate(g)]);
}

/** Returns e^a. */
export function exp(a: Value): Value {
  const y = unary('Exp', a);
  return withPullback(y, [a], (g) => [multiply(g, y)]);
}

/** Returns 1 / (1 + e^-a). */
export function sigmoid(a: Value): Value {
  const y = unary('Sigmoid', a);
  return withPullback(y, [a], (g) => [multiply(g, subtract(y, multiply(y, y)))]);
}

/**
 * Computes log(1 + e^a) from the log-softmax of a and 0. The kernel of LogSoftmax gives equal
 * elements the same bits at every position of a tensor; the kernel of `Softplus` does not.
 */
export function softplus(a: Value): Value {
  const { graph } = a;
  const lead = a.shape.map(() => 0);
  const pads = graph.integers([...lead, 0, ...lead, 1]);
  const pair = graph.node('Pad', [reshape(a, [...a.shape, 1]), pads], { shape: [...a.shape, 2] });
  const output = { shape: pair.shape };
  const logs = graph.node('LogSoftmax', [pair], output, { attributes: { axis: -1 } });
  const y = unary('Neg', reshape(columns(logs, 1, 1), a.shape));
  return withPullback(y, [a], (g) => [multiply(g, unary('Sigmoid', a))]);
}

/**
 * Gated linear unit of SwiGLU: silu(gate) * up, with silu(x) = x s and s = sigmoid(x). Its gradient
 * reuses the product y: dL/dgate = g (y + s (up - y)), which takes one pass less than the textbook
 * form.
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

/** Returns 1 / a. */
export function reciprocal(a: Value): Value {
  const y = unary('Reciprocal', a);
  return withPullback(y, [a], (g) => [negate(multiply(g, multiply(y, y)))]);
}

/**
 * Computes cap tanh(a / cap), which is close to `a` if `a` is small and whose magnitude is less
 * than `cap`.
 */
export function softCap(a: Value, cap: number): Value {
  const { graph } = a;
  const t = unary('Tanh', binary('Mul', a, graph.scalar(1 / cap)));
  const y = binary('Mul', t, graph.scalar(cap));
  return withPullback(y, [a], (g) => [multiply(g, softCapSlope(y, cap))]);
}

/**
 * Computes the derivative of {@link softCap} from its result `y`: 1 - (y / cap)^2. Has no gradient.
 */
export function softCapSlope(y: Value, cap: number): Value {
  return complement(binary('Mul', y, y), 1 / cap ** 2);
}

/** Returns 1 - factor a. */
const complement = (a: Value, factor: number): Value => polynomial(a, 1, -factor);

/**
 * Computes x Phi(x), where Phi is the standard normal distribution function and phi its density.
 * dL/dx = g (Phi(x) + x phi(x))
 * @see Hendrycks and Gimpel, arXiv:1606.08415
 */
export function gelu(x: Value): Value {
  const number = (value: number): Value => x.graph.scalar(value);
  const erf = unary('Erf', binary('Mul', x, number(Math.SQRT1_2)));
  const below = binary('Mul', binary('Add', erf, number(1)), number(0.5));
  return withPullback(binary('Mul', x, below), [x], (g) => {
    const density = unary('Exp', binary('Mul', binary('Mul', x, x), number(-0.5)));
    const scaled = binary('Mul', density, number(1 / Math.sqrt(2 * Math.PI)));
    return [multiply(g, binary('Add', below, binary('Mul', x, scaled)))];
  });
}

/**
 * Computes x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), an approximation of
 * {@link gelu}. With t = tanh(u): dL/dx = g ((1 + t) / 2 + x (1 - t^2) u' / 2)
 */
export function geluTanh(x: Value): Value {
  const number = (value: number): Value => x.graph.scalar(value);
  const factor = Math.sqrt(2 / Math.PI);
  const cubic = 0.044715 * factor;
  const square = binary('Mul', x, x);
  const u = binary('Mul', x, polynomial(square, factor, cubic));
  const t = unary('Tanh', u);
  const half = binary('Mul', binary('Add', t, number(1)), number(0.5));
  return withPullback(binary('Mul', x, half), [x], (g) => {
    const inner = polynomial(square, factor / 2, 1.5 * cubic);
    const slope = binary('Mul', complement(binary('Mul', t, t), 1), inner);
    return [multiply(g, binary('Add', half, binary('Mul', x, slope)))];
  });
}

/** Returns constant + factor a. */
const polynomial = (a: Value, constant: number, factor: number): Value =>
  binary('Add', binary('Mul', a, a.graph.scalar(factor)), a.graph.scalar(constant));

/** Sums a gradient over the axes along which a value of shape `shape` was broadcast. */
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
