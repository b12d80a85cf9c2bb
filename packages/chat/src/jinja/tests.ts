/** Jinja's tests, as in `x is defined`. */
import { contains } from './operators.js';
import { str } from './spelling.js';
import {
  compare,
  equal,
  Float,
  isDict,
  isInt,
  isList,
  isNumber,
  numeric,
  type Value,
} from './values.js';

export type Test = (value: Value, args: readonly Value[]) => boolean;

const sequence = (value: Value): boolean =>
  value === undefined || typeof value === 'string' || isList(value) || isDict(value);

const remainder = (value: Value, by: number): number => {
  const number = numeric(value);
  if (number === undefined) throw new Error('only numbers can be divided');
  return ((number % by) + by) % by;
};

const table: Readonly<Record<string, Test>> = {
  boolean: (value) => typeof value === 'boolean',
  callable: (value) => typeof value === 'function',
  defined: (value) => value !== undefined,
  divisibleby: (value, [by]) => remainder(value, numeric(by) ?? Number.NaN) === 0,
  eq: (value, [other]) => equal(value, other),
  even: (value) => remainder(value, 2) === 0,
  false: (value) => value === false,
  float: (value) => value instanceof Float,
  ge: (value, [other]) => compare(value, other) >= 0,
  gt: (value, [other]) => compare(value, other) > 0,
  in: (value, [container]) => contains(container, value),
  integer: isInt,
  iterable: sequence,
  le: (value, [other]) => compare(value, other) <= 0,
  lower: (value) => str(value) === str(value).toLowerCase() && /\p{Ll}/u.test(str(value)),
  lt: (value, [other]) => compare(value, other) < 0,
  mapping: isDict,
  ne: (value, [other]) => !equal(value, other),
  none: (value) => value === null,
  number: (value) => isNumber(value) || typeof value === 'boolean',
  odd: (value) => remainder(value, 2) === 1,
  sameas: (value, [other]) => value === other,
  sequence,
  string: (value) => typeof value === 'string',
  true: (value) => value === true,
  undefined: (value) => value === undefined,
  upper: (value) => str(value) === str(value).toUpperCase() && /\p{Lu}/u.test(str(value)),
};

const aliases: Readonly<Record<string, string>> = {
  equalto: 'eq',
  '==': 'eq',
  '!=': 'ne',
  greaterthan: 'gt',
  '>': 'gt',
  '>=': 'ge',
  lessthan: 'lt',
  '<': 'lt',
  '<=': 'le',
};

/**
 * Returns the test called `name`.
 * @throws Error for an unknown name
 */
export function testNamed(name: string): Test {
  const own = Object.hasOwn(aliases, name) ? (aliases[name] ?? name) : name;
  const test = Object.hasOwn(table, own) ? table[own] : undefined;
  if (!test) throw new Error(`there is no test "${name}"`);
  return test;
}
