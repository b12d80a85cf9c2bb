/** Expression trees, which the parser creates from tokens, and the computation of their values. */
import { absolute, ceil, factorial, floor } from './functions.js';
import {
  add,
  approximate,
  divide,
  exact,
  multiply,
  negate,
  nthRoot,
  parseNumber,
  power,
  squareRoot,
  toApproximate,
  type MaybeNum,
} from './number.js';

export type Expression =
  | { readonly kind: 'number'; readonly digits: string }
  | { readonly kind: 'symbol'; readonly name: string }
  | {
      readonly kind: 'apply';
      readonly operator: Operator;
      readonly operands: readonly Expression[];
    }
  /** Text that the parser could not read. It has no value. */
  | { readonly kind: 'invalid' };

/** Values of variables, by name. */
export type Assignment = ReadonlyMap<string, MaybeNum>;

export type Operator = keyof typeof operators;

const operators = {
  add,
  multiply,
  divide,
  floorDivide: (a: MaybeNum, b: MaybeNum): MaybeNum => floor(divide(a, b)),
  power,
  negate: (a: MaybeNum): MaybeNum => negate(a),
  absolute: (a: MaybeNum): MaybeNum => absolute(a),
  floor: (a: MaybeNum): MaybeNum => floor(a),
  ceil: (a: MaybeNum): MaybeNum => ceil(a),
  factorial: (a: MaybeNum): MaybeNum => factorial(a),
  sqrt: (a: MaybeNum): MaybeNum => squareRoot(a),
  root: nthRoot,
  exp: onFloat(Math.exp, Math.exp),
  ln: onFloat(Math.log, (x) => 1 / x),
  sin: onFloat(Math.sin, Math.cos),
  cos: onFloat(Math.cos, Math.sin),
  tan: onFloat(Math.tan, (x) => 1 + Math.tan(x) ** 2),
  arcsin: onFloat(Math.asin, arcSlope),
  arccos: onFloat(Math.acos, arcSlope),
  arctan: onFloat(Math.atan, (x) => 1 / (1 + x * x)),
} satisfies Record<string, (a: MaybeNum, b: MaybeNum) => MaybeNum>;

/**
 * Creates a function of floats with error bounds from a function of numbers and its derivative. The
 * error of the result is the error of the argument times the slope.
 */
function onFloat(
  value: (x: number) => number,
  slope: (x: number) => number,
): (a: MaybeNum) => MaybeNum {
  return (a) => {
    const x = toApproximate(a);
    return x && approximate(value(x.value), x.error === 0 ? 0 : Math.abs(slope(x.value)) * x.error);
  };
}

/**
 * Returns the slope of the arc sine. At 1 and -1, where the slope is infinite, returns the slope of
 * the secant to a point that differs by one rounding error.
 */
function arcSlope(x: number): number {
  return 1 / Math.sqrt(Math.max(1 - x * x, 2 ** -52));
}

const constants: ReadonlyMap<string, number> = new Map([
  ['\\pi', Math.PI],
  ['e', Math.E],
]);

export const invalid: Expression = { kind: 'invalid' };
export const numeral = (digits: string): Expression => ({ kind: 'number', digits });
export const apply = (operator: Operator, ...operands: readonly Expression[]): Expression => ({
  kind: 'apply',
  operator,
  operands,
});

/**
 * Computes the value of an expression. Returns undefined if there is none, as for 1/0. Recursion
 * cannot overflow the stack, because the parser limits the depth of expressions.
 */
export function evaluate(expression: Expression, assignment: Assignment): MaybeNum {
  switch (expression.kind) {
    case 'number':
      return parseNumber(expression.digits);
    case 'symbol': {
      const constant = constants.get(expression.name);
      return constant === undefined ? assignment.get(expression.name) : approximate(constant, 0);
    }
    case 'apply': {
      const [a, b] = expression.operands.map((operand) => evaluate(operand, assignment));
      return operators[expression.operator](a, b);
    }
    case 'invalid':
      return undefined;
  }
}

/** Returns the distinct variables of an expression. */
export function variablesOf(expression: Expression, found: Set<string> = new Set()): Set<string> {
  if (expression.kind === 'symbol' && !constants.has(expression.name)) found.add(expression.name);
  if (expression.kind === 'apply')
    for (const operand of expression.operands) variablesOf(operand, found);
  return found;
}

/** Returns true if both expressions are the same tree, even if they have no value. */
export function sameTree(a: Expression, b: Expression): boolean {
  if (a.kind === 'apply' && b.kind === 'apply') {
    return (
      a.operator === b.operator &&
      a.operands.every((operand, index) => sameTree(operand, b.operands[index] ?? invalid))
    );
  }
  if (a.kind === 'number' && b.kind === 'number') return a.digits === b.digits;
  return a.kind === 'symbol' && b.kind === 'symbol' && a.name === b.name;
}

/**
 * Returns true if the whole expression could be parsed. It may still have no value, such as 1/0.
 */
export function isReadable(expression: Expression): boolean {
  if (expression.kind === 'apply') return expression.operands.every(isReadable);
  return expression.kind !== 'invalid';
}

/** Prime numbers, one per variable. Expressions with more variables are not compared. */
const primes = [
  7919, 6389, 5003, 4001, 3299, 2711, 2203, 1811, 1511, 1259, 1049, 863, 719, 607, 499, 421,
] as const;
/**
 * Divisors of the primes, one per test point. The values of the variables at the first three points
 * are about 8 to 0.4, 5 to 0.2, and -0.8 to -0.04; at the last point, they are the primes
 * themselves.
 */
const divisors = [991n, 1777n, -9973n, 1n] as const;

/**
 * Returns the points (values of all variables) at which expressions are compared. At each point,
 * all variables have different values. Returns no points for more than 16 variables. If two
 * polynomials of moderate degree agree at all points, they are practically certain to be equal.
 * This is the idea of Schwartz (1980) and Zippel (1979), with fixed points instead of random ones,
 * which no answer anticipates.
 */
export function testPoints(variables: ReadonlySet<string>): readonly Assignment[] {
  if (variables.size === 0) return [new Map()];
  if (variables.size > primes.length) return [];
  const sorted = [...variables].toSorted();
  return divisors.map(
    (divisor) =>
      new Map(
        sorted.map((name, index) => [name, divide(exact(BigInt(primes[index]!)), exact(divisor))]),
      ),
  );
}
