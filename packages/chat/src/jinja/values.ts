/**
 * Types of Python values in templates. A string, boolean or null (Python's None) is JavaScript's;
 * `undefined` is Jinja's undefined. A JavaScript number is an int, because JavaScript does not
 * distinguish 1.0 from 1; floats have a class of their own.
 */

/** A Python float. */
export class Float {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** A Python tuple. Unlike a list, it is printed in parentheses, and it never equals a list. */
export class Tuple extends Array<Value> {}

export function tuple(items: readonly Value[]): Tuple {
  const made = new Tuple();
  for (const item of items) made.push(item);
  return made;
}

/**
 * Result of the filter `groupby` for one group: a tuple whose items are also available as `grouper`
 * and `list`.
 */
export class Group extends Tuple {}

export function group(key: Value, items: readonly Value[]): Group {
  const made = new Group();
  made.push(key, items);
  return made;
}

/** An object with attributes, such as `namespace()` and `loop`. */
export class Attributes {
  readonly entries: Map<string, Value>;

  constructor(entries: Map<string, Value>) {
    this.entries = entries;
  }
}

export type Keywords = ReadonlyMap<string, Value>;

export type Callable = (args: readonly Value[], keywords: Keywords) => Value;

export type Dict = ReadonlyMap<Value, Value>;

export type Value =
  | string
  | boolean
  | null
  | undefined
  | number
  | bigint
  | Float
  | readonly Value[]
  | Dict
  | Attributes
  | Callable;

export const isDict = (value: Value): value is Dict => value instanceof Map;

export const isList = (value: Value): value is readonly Value[] => Array.isArray(value);

export const isInt = (value: Value): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint';

export const isNumber = (value: Value): value is number | bigint | Float =>
  isInt(value) || value instanceof Float;

/**
 * Returns the numeric value of an int, a float, or a boolean (an int in Python). Returns undefined
 * for other values.
 */
export function numeric(value: Value): number | undefined {
  if (value instanceof Float) return value.value;
  if (typeof value === 'boolean') return Number(value);
  return isInt(value) ? Number(value) : undefined;
}

/** Implements Python's `bool(value)`. */
export function truthy(value: Value): boolean {
  if (value instanceof Float) return value.value !== 0;
  if (isList(value)) return value.length > 0;
  return isDict(value) ? value.size > 0 : Boolean(value);
}

/** Implements Python's `a == b`. */
export function equal(a: Value, b: Value): boolean {
  if (a === b) return true;
  const [x, y] = [numeric(a), numeric(b)];
  if (x !== undefined && y !== undefined) return x === y;
  if (isList(a) && isList(b)) {
    const sameKind = a instanceof Tuple === b instanceof Tuple;
    return sameKind && a.length === b.length && a.every((item, i) => equal(item, b[i]));
  }
  return isDict(a) && isDict(b) && a.size === b.size && equalEntries(a, b);
}

const equalEntries = (a: Dict, b: Dict): boolean =>
  [...a].every(([key, value]) => b.has(key) && equal(value, b.get(key)));

/**
 * Compares two values in Python's order. Returns a negative number, zero or a positive number.
 * @throws Error for values that Python cannot order
 */
export function compare(a: Value, b: Value): number {
  const [x, y] = [numeric(a), numeric(b)];
  if (x !== undefined && y !== undefined) return x - y;
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  if (isList(a) && isList(b)) {
    const i = a.findIndex((item, at) => at >= b.length || !equal(item, b[at]));
    if (i < 0) return a.length - b.length;
    return i >= b.length ? 1 : compare(a[i], b[i]);
  }
  throw new Error(`${typeName(a)} and ${typeName(b)} have no order`);
}

/** Compares two strings by code points. Comparing UTF-16 units would sort U+FFFF after U+10000. */
function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const [left, right] = [Array.from(a), Array.from(b)];
  const i = left.findIndex((character, at) => character !== right[at]);
  if (i < 0) return left.length - right.length;
  return (left[i]?.codePointAt(0) ?? -1) - (right[i]?.codePointAt(0) ?? -1);
}

/** Returns Python's name for the type of a value, such as `int`. */
export function typeName(value: Value): string {
  if (value === undefined) return 'undefined';
  if (value === null) return 'None';
  if (typeof value === 'string') return 'str';
  if (typeof value === 'boolean') return 'bool';
  if (isInt(value)) return 'int';
  if (value instanceof Float) return 'float';
  if (isList(value)) return value instanceof Tuple ? 'tuple' : 'list';
  return isDict(value) ? 'dict' : 'object';
}

const mostItems = 100_000;

/**
 * Checks that a list has at most 100,000 items, because a longer list must be a mistake in the
 * template.
 * @throws Error if the list is longer
 */
export function checkLength(length: number): void {
  if (length > mostItems) throw new Error(`a list of ${length} items is longer than ${mostItems}`);
}

/** Returns the items over which a loop iterates. @throws Error for values that are not iterable */
export function iterate(value: Value): readonly Value[] {
  if (value === undefined) return [];
  if (isList(value)) return value;
  if (isDict(value)) return [...value.keys()];
  if (typeof value === 'string') return Array.from(value);
  throw new Error(`${typeName(value)} is not iterable`);
}

/** Implements Python's `len(value)`. */
export function lengthOf(value: Value): number {
  if (isDict(value)) return value.size;
  return typeof value === 'string' ? codePoints(value) : iterate(value).length;
}

function codePoints(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    const high = text.charCodeAt(i);
    if (high < 0xd800 || high > 0xdbff) continue;
    const low = text.charCodeAt(i + 1);
    if (low >= 0xdc00 && low <= 0xdfff) count--;
  }
  return count;
}
