/** Kernels that apply an operator to each element, with broadcasting by strides. */
import { collapse, coordinates, type Loop } from './loop.js';
import { perElement, type Call, type Element } from './kernel.js';

interface Formula {
  /** Returns the WGSL expression of the result, given the expressions of the operands. */
  readonly of: (...operands: readonly string[]) => string;
  /** Element type of the result. @default the type of the last operand */
  readonly result?: Element;
  readonly helper?: string;
}

const truth = (expression: (a: string, b: string) => string): Formula => ({
  of: (a, b) => `select(0, 1, ${expression(a!, b!)})`,
  result: 'i32',
});

/**
 * WGSL sigmoid that never computes an infinite exponential, because WGSL may treat infinity as any
 * number.
 */
const sigmoid = `fn sigmoid(x: f32) -> f32 {
  let e = exp(-abs(x));
  return select(1.0, e, x < 0.0) / (1.0 + e);
}`;

/** Hyperbolic tangent. Uses a series near 0, where 1 - e^-2x would lose precision. */
const hyperbolic = `fn tangent(x: f32) -> f32 {
  let s = x * x;
  let near = x * (1.0 + s * (-0.33333333 + s * (0.13333333 + s * (-0.053968254 + s * 0.021869488))));
  let e = exp(-2.0 * abs(x));
  return select(sign(x) * (1.0 - e) / (1.0 + e), near, abs(x) < 0.25);
}`;

/** Error function by Abramowitz and Stegun, 7.1.26; the error is at most 1.5e-7. */
const errorFunction = `fn error_(x: f32) -> f32 {
  let t = 1.0 / (1.0 + 0.3275911 * abs(x));
  let series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return sign(x) * (1.0 - series * exp(-x * x));
}`;

const formulas: Readonly<Record<string, Formula>> = {
  Add: { of: (a, b) => `${a} + ${b}` },
  Sub: { of: (a, b) => `${a} - ${b}` },
  Mul: { of: (a, b) => `${a} * ${b}` },
  Min: { of: (a, b) => `min(${a}, ${b})` },
  Neg: { of: (a) => `-${a}` },
  Exp: { of: (a) => `exp(${a})` },
  Reciprocal: { of: (a) => `1.0 / ${a}` },
  Sigmoid: { of: (a) => `sigmoid(${a})`, helper: sigmoid },
  Tanh: { of: (a) => `tangent(${a})`, helper: hyperbolic },
  Erf: { of: (a) => `error_(${a})`, helper: errorFunction },
  Equal: truth((a, b) => `${a} == ${b}`),
  Less: truth((a, b) => `${a} < ${b}`),
  LessOrEqual: truth((a, b) => `${a} <= ${b}`),
  Greater: truth((a, b) => `${a} > ${b}`),
  And: { of: (a, b) => `${a} & ${b}` },
  Or: { of: (a, b) => `${a} | ${b}` },
  Where: { of: (test, a, b) => `select(${b}, ${a}, ${test} != 0)` },
  'Cast to f32': { of: (a) => `f32(${a})`, result: 'f32' },
  'Cast to i32': { of: (a) => `i32(${a})`, result: 'i32' },
};

/**
 * Creates the call of a kernel that applies `operator` to each element.
 * @param loop shape of the result, with the strides of each operand in its dimensions
 */
export function elementwise(operator: string, elements: readonly Element[], loop: Loop): Call {
  const { of, result = elements.at(-1)!, helper } = formulas[operator]!;
  const { dims, strides, count } = collapse(loop);
  const flat = dims.length <= 1;
  const places = elements.map((_, i) => (flat ? `i * p(${1 + i}u)` : `x${i}`));
  const value = of(...places.map((place, i) => `b${i}[${place}]`));
  const walk = flat ? '' : coordinates(1, elements.length);
  const body = `${walk} b${elements.length}[i] = ${value};`;
  const spec = {
    name: flat ? `flat ${operator}` : operator,
    types: `${elements.join(' ')} -> ${result}`,
  };
  const steps = strides.map((own) => own[0] ?? 0);
  const uniforms = flat ? steps : [dims.length, ...dims, ...strides.flat()];
  return perElement(spec, [count, ...uniforms], body, helper);
}
