/** Access to attributes and items: `a.b`, `a[b]`, `a[1:2]`. */
import { methodOf, type Methods } from './parameters.js';
import { str } from './spelling.js';
import { textMethod } from './text-methods.js';
import {
  Attributes,
  equal,
  Float,
  Group,
  isDict,
  isInt,
  isList,
  Tuple,
  tuple,
  type Dict,
  type Value,
} from './values.js';

/**
 * Evaluates `object.name`: the method or attribute of that name, otherwise the item with that key.
 */
export function attribute(object: Value, name: string): Value {
  if (typeof object === 'string') return textMethod(object, name);
  if (object instanceof Attributes) return object.entries.get(name);
  if (isDict(object)) return methodOf(dictMethods, object, name) ?? object.get(name);
  if (object instanceof Group && name === 'grouper') return object[0];
  if (object instanceof Group && name === 'list') return object[1];
  return isList(object) ? methodOf(listMethods, object, name) : undefined;
}

/** Evaluates `object[key]`: the item with that key, otherwise the attribute of that name. */
export function item(object: Value, key: Value): Value {
  if (isDict(object)) {
    const own = dictKey(key);
    if (object.has(own)) return object.get(own);
    return typeof key === 'string' ? methodOf(dictMethods, object, key) : undefined;
  }
  if (isInt(key) || typeof key === 'boolean') return at(object, Number(key));
  return typeof key === 'string' ? attribute(object, key) : undefined;
}

/**
 * Returns the key under which a dict stores an item. As in Python, 1, 1.0 and True are the same
 * key.
 */
export function dictKey(key: Value): Value {
  if (typeof key === 'boolean') return Number(key);
  return key instanceof Float && Number.isInteger(key.value) ? key.value : key;
}

function at(object: Value, index: number): Value {
  if (typeof object === 'string') return Array.from(object).at(index);
  return isList(object) ? object.at(index) : undefined;
}

/** Evaluates `object[start:stop:step]` for a string or a list. */
export function slice(
  object: Value,
  start: number | undefined,
  stop: number | undefined,
  step = 1,
): Value {
  const items = typeof object === 'string' ? Array.from(object) : object;
  if (!isList(items)) throw new Error('only texts and lists have slices');
  if (step === 0) throw new Error('slice step cannot be zero');
  const chosen: Value[] = [];
  const last = items.length - 1;
  const bound = (value: number, low: number, high: number): number =>
    Math.min(Math.max(value < 0 ? value + items.length : value, low), high);
  if (step > 0) {
    const end = stop === undefined ? items.length : bound(stop, 0, items.length);
    for (let i = bound(start ?? 0, 0, items.length); i < end; i += step) chosen.push(items[i]);
  } else {
    const end = stop === undefined ? -1 : bound(stop, -1, last);
    for (let i = start === undefined ? last : bound(start, -1, last); i > end; i += step)
      chosen.push(items[i]);
  }
  if (typeof object === 'string') return chosen.map(str).join('');
  return items instanceof Tuple ? tuple(chosen) : chosen;
}

export const pairs = (dict: Dict): readonly Value[] =>
  Array.from(dict, ([key, value]) => tuple([key, value]));

const dictMethods: Methods<Dict> = {
  copy: [[], (dict) => new Map(dict)],
  get: [
    ['key', 'default'],
    (dict, [key, ...otherwise]) => {
      if (dict.has(dictKey(key))) return dict.get(dictKey(key));
      return otherwise.length > 0 ? otherwise[0] : null;
    },
  ],
  items: [[], pairs],
  keys: [[], (dict) => [...dict.keys()]],
  values: [[], (dict) => [...dict.values()]],
};

const listMethods: Methods<readonly Value[]> = {
  copy: [[], (list) => list.slice()],
  count: [['value'], (list, [value]) => list.filter((each) => equal(each, value)).length],
  index: [
    ['value'],
    (list, [value]) => {
      const found = list.findIndex((each) => equal(each, value));
      if (found < 0) throw new Error('the value is not in the list');
      return found;
    },
  ],
};
