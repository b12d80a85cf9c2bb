/** Filters on lists, such as select, sort and map. */
import { attribute, dictKey, item } from './access.js';
import { add } from './operators.js';
import { repr, str } from './spelling.js';
import { testNamed } from './tests.js';
import {
  checkLength,
  compare,
  equal,
  isInt,
  isDict,
  iterate,
  group,
  numeric,
  truthy,
  tuple,
  type Keywords,
  type Value,
} from './values.js';

export type Filter = (value: Value, args: readonly Value[], keywords: Keywords) => Value;

/**
 * Returns a function that reads the value at a path such as `a.b.0`, for the argument `attribute`
 * of filters.
 */
function path(name: Value): (value: Value) => Value {
  if (name === undefined || name === null) return (value) => value;
  const steps = isInt(name) ? [Number(name)] : str(name).split('.');
  return (value) =>
    steps.reduce<Value>(
      (at, step) => item(at, typeof step === 'string' && /^\d+$/.test(step) ? Number(step) : step),
      value,
    );
}

/**
 * Returns the value that case-insensitive filters compare: a string in lower case, any other value
 * unchanged.
 */
const folded = (value: Value): Value => (typeof value === 'string' ? value.toLowerCase() : value);

function sort(value: Value, args: readonly Value[]): Value {
  const reverse = truthy(args[0]);
  const exact = truthy(args[1]);
  const names = args[2];
  const keys = typeof names === 'string' ? names.split(',').map(path) : [path(names)];
  const key = (each: Value): readonly Value[] =>
    keys.map((read) => (exact ? read(each) : folded(read(each))));
  const sorted = iterate(value).toSorted((a, b) => compare(key(a), key(b)) * (reverse ? -1 : 1));
  return sorted;
}

function unique(value: Value, args: readonly Value[]): Value {
  const exact = truthy(args[0]);
  const read = path(args[1]);
  const key = (each: Value): Value => (exact ? read(each) : folded(read(each)));
  const seen = new Set<Value>();
  return iterate(value).filter((each) => {
    const own = key(each);
    const known = dictKey(typeof own === 'object' && own !== null ? repr(own) : own);
    const isNew = !seen.has(known);
    seen.add(known);
    return isNew;
  });
}

/**
 * Creates `max` (sign 1) and `min` (sign -1), which return the largest or smallest item, or
 * undefined for an empty list.
 */
const extreme =
  (sign: 1 | -1): Filter =>
  (value, args) => {
    const exact = truthy(args[0]);
    const read = path(args[1]);
    const key = (each: Value): Value => (exact ? read(each) : folded(read(each)));
    return iterate(value).reduce<Value>(
      (best, each, i) => (i === 0 || compare(key(each), key(best)) * sign > 0 ? each : best),
      undefined,
    );
  };

/** Returns the items of a value. Here, unlike in other filters, None counts as an empty list. */
const orNone = (value: Value): readonly Value[] => iterate(value ?? undefined);

/**
 * Creates `select` and `reject`, which test the items themselves, and `selectattr` and
 * `rejectattr`, which test an attribute of each item.
 */
const chosen =
  (keep: boolean, byAttribute: boolean): Filter =>
  (value, args) => {
    const read = byAttribute ? path(args[0]) : (each: Value): Value => each;
    const [name, ...rest] = byAttribute ? args.slice(1) : args;
    const test = name === undefined ? truthy : testNamed(str(name));
    return orNone(value).filter((each) => test(read(each), rest) === keep);
  };

function groupBy(value: Value, [by, missing, exact]: readonly Value[]): Value {
  const read = path(by);
  const keyed = iterate(value).map((each) => tuple([read(each) ?? missing, each]));
  const key = (pair: readonly Value[]): Value => (truthy(exact) ? pair[0] : folded(pair[0]));
  const groups: { readonly key: Value; readonly pairs: (readonly Value[])[] }[] = [];
  for (const pair of keyed.toSorted((a, b) => compare(key(a), key(b)))) {
    const last = groups.at(-1);
    if (last && equal(last.key, key(pair))) last.pairs.push(pair);
    else groups.push({ key: key(pair), pairs: [pair] });
  }
  return groups.map(({ pairs }) =>
    group(
      pairs[0]?.[0],
      pairs.map(([, each]) => each),
    ),
  );
}

function join(value: Value, args: readonly Value[]): Value {
  const read = path(args[1]);
  return iterate(value)
    .map((each) => str(read(each)))
    .join(str(args[0]));
}

function sum(value: Value, [attribute, start = 0]: readonly Value[]): Value {
  const read = path(attribute);
  return iterate(value).reduce((total, each) => add(total, read(each)), start);
}

function dictSort(value: Value, args: readonly Value[]): Value {
  if (!isDict(value)) throw new Error('dictsort needs a dict');
  const exact = truthy(args[0]);
  const by = str(args[1] ?? 'key');
  const reverse = truthy(args[2]);
  const key = (entry: readonly Value[]): Value =>
    exact ? entry[by === 'key' ? 0 : 1] : folded(entry[by === 'key' ? 0 : 1]);
  return [...value]
    .toSorted((a, b) => compare(key(a), key(b)) * (reverse ? -1 : 1))
    .map((entry) => tuple(entry));
}

function batch(value: Value, args: readonly Value[]): Value {
  const [items, size] = [iterate(value), numeric(args[0]) ?? 1];
  checkLength(size);
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, i) => {
    const part = items.slice(i * size, (i + 1) * size);
    const missing = (args[1] ?? null) === null ? 0 : size - part.length;
    return [...part, ...Array.from({ length: missing }, () => args[1])];
  });
}

export const listFilters: Readonly<Record<string, Filter>> = {
  attr: (value, [name]) => attribute(value, str(name)),
  batch,
  dictsort: dictSort,
  first: (value) => iterate(value)[0],
  groupby: groupBy,
  join,
  last: (value) => iterate(value).at(-1),
  list: (value) => [...iterate(value)],
  max: extreme(1),
  min: extreme(-1),
  reject: chosen(false, false),
  rejectattr: chosen(false, true),
  reverse: (value) =>
    typeof value === 'string'
      ? Array.from(value).toReversed().join('')
      : iterate(value).toReversed(),
  select: chosen(true, false),
  selectattr: chosen(true, true),
  sort,
  sum,
  unique,
};

/**
 * Implements the filter `map` with an attribute: `map(attribute='a', default=b)`. The other form,
 * with the name of a filter, is implemented by the caller.
 */
export function mapAttribute(value: Value, keywords: Keywords): Value {
  const read = path(keywords.get('attribute'));
  return orNone(value).map((each) => read(each) ?? keywords.get('default'));
}
