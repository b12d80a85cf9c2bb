/** Binary operators with Python's semantics. */
import { dictKey } from './access.js';
import { interpolate } from './formats.js';
import { str } from './spelling.js';
import {
  checkLength,
  compare,
  equal,
  Float,
  isDict,
  isList,
  iterate,
  numeric,
  Tuple,
  tuple,
  typeName,
  type Value,
} from './values.js';

type Operator = (left: Value, right: Value) => Value;

/**
 * Binary operators. `and` and `or` are not among them, because they evaluate their right side only
 * when needed.
 */
export const operators: Readonly<Record<string, Operator>> = {
  '==': (a, b) => equal(a, b),
  '!=': (a, b) => !equal(a, b),
  '<': (a, b) => compare(defined(a), defined(b)) < 0,
  '<=': (a, b) => compare(defined(a), defined(b)) <= 0,
  '>': (a, b) => compare(defined(a), defined(b)) > 0,
  '>=': (a, b) => compare(defined(a), defined(b)) >= 0,
  in: (a, b) => contains(b, a),
  'not in': (a, b) => !contains(b, a),
  '~': (a, b) => str(a) + str(b),
  '+': add,
  '-': (a, b) => arithmetic('-', a, b, (x, y) => x - y),
  '*': (a, b) => repeated(a, b) ?? repeated(b, a) ?? arithmetic('*', a, b, (x, y) => x * y),
  '/': (a, b) => new Float(divide(a, b)),
  '//': (a, b) => arithmetic('//', a, nonZero(b), (x, y) => Math.floor(x / y)),
  '%': modulo,
  '**': power,
};

/** Implements Python's `item in container`. */
export function contains(container: Value, item: Value): boolean {
  if (typeof container === 'string') {
    if (typeof item !== 'string') throw new Error(`${typeName(item)} in str is not possible`);
    return container.includes(item);
  }
  if (isDict(container)) return container.has(dictKey(item));
  return iterate(container).some((each) => equal(each, item));
}

function defined(value: Value): Value {
  if (value === undefined) throw new Error('a value is undefined');
  return value;
}

export function add(a: Value, b: Value): Value {
  if (typeof a === 'string' && typeof b === 'string') return a + b;
  if (isList(a) && isList(b) && a instanceof Tuple === b instanceof Tuple) {
    const joined = [...a, ...b];
    return a instanceof Tuple ? tuple(joined) : joined;
  }
  return arithmetic('+', a, b, (x, y) => x + y);
}

/** Implements Python's `sequence * count`. Returns undefined if the operands are of other types. */
function repeated(items: Value, times: Value): Value {
  const count = times instanceof Float ? undefined : numeric(times);
  if (count === undefined) return undefined;
  if (typeof items === 'string') return items.repeat(Math.max(0, count));
  if (!isList(items)) return undefined;
  checkLength(Math.max(1, items.length) * count);
  const all = Array.from({ length: Math.max(0, count) }, () => items).flat();
  return items instanceof Tuple ? tuple(all) : all;
}

function divide(a: Value, b: Value): number {
  const quotient = numeric(arithmetic('/', a, nonZero(b), (x, y) => x / y));
  return quotient ?? Number.NaN;
}

function modulo(a: Value, b: Value): Value {
  if (typeof a === 'string') return interpolate(a, b instanceof Tuple ? b : [b]);
  return arithmetic('%', a, nonZero(b), (x, y) => x - y * Math.floor(x / y));
}

function power(a: Value, b: Value): Value {
  const divides = (numeric(b) ?? 0) < 0;
  const result = arithmetic('**', divides ? nonZero(a) : a, b, (x, y) => x ** y);
  return divides && typeof result === 'number' ? new Float(result) : result;
}

/**
 * Applies an arithmetic operator. The result is an int if both operands are ints, otherwise a
 * float, as in Python.
 */
function arithmetic(
  name: string,
  a: Value,
  b: Value,
  compute: (x: number, y: number) => number,
): Value {
  const [x, y] = [numeric(a), numeric(b)];
  if (x === undefined || y === undefined)
    throw new Error(`${name} is not possible between ${typeName(a)} and ${typeName(b)}`);
  const result = compute(x, y);
  return a instanceof Float || b instanceof Float ? new Float(result) : result;
}

function nonZero(value: Value): Value {
  if (numeric(value) === 0) throw new Error('division by zero');
  return value;
}
