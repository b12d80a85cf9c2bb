import { str } from './spelling.js';
import { strftime } from './strftime.js';
import {
  Attributes,
  checkLength,
  isDict,
  iterate,
  numeric,
  typeName,
  type Callable,
  type Keywords,
  type Value,
} from './values.js';

/**
 * Returns the constants and functions that are visible to every chat template, the same as in
 * transformers.
 * @param now time that `strftime_now` formats
 */
export function globals(now: Date): ReadonlyMap<string, Value> {
  return new Map<string, Value>([
    ['true', true],
    ['True', true],
    ['false', false],
    ['False', false],
    ['none', null],
    ['None', null],
    ['range', range],
    ['dict', (args, keywords) => dict(args, keywords)],
    ['namespace', (args, keywords) => new Attributes(named(dict(args, keywords)))],
    ['raise_exception', raise],
    ['strftime_now', ([format]) => strftime(now, str(format))],
  ] satisfies [string, Value | Callable][]);
}

const range: Callable = (args) => {
  const [a, b, by] = args.map((each) => numeric(each));
  const [start, stop, step] = args.length > 1 ? [a, b, by ?? 1] : [0, a, 1];
  if (start === undefined || stop === undefined || step === 0)
    throw new Error(`range does not take ${args.map(typeName).join(', ')}`);
  const length = Math.max(0, Math.ceil((stop - start) / step));
  checkLength(length);
  return Array.from({ length }, (_, i) => start + i * step);
};

const raise: Callable = ([message]) => {
  throw new Error(str(message));
};

function dict([source]: readonly Value[], keywords: Keywords): ReadonlyMap<Value, Value> {
  const own = isDict(source)
    ? [...source]
    : iterate(source).map((pair): [Value, Value] => [iterate(pair)[0], iterate(pair)[1]]);
  return new Map<Value, Value>([...own, ...keywords]);
}

const named = (entries: ReadonlyMap<Value, Value>): Map<string, Value> =>
  new Map(Array.from(entries, ([key, value]) => [str(key), value]));
