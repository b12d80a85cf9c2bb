/** Python's methods of strings, and functions on strings that filters share with them. */
import { str } from './spelling.js';
import { isDict, isList, numeric, tuple, typeName, type Callable, type Value } from './values.js';

const pythonSpace =
  '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const isSpace = new RegExp(`[${pythonSpace}]`);
const words = new RegExp(`[^${pythonSpace}]+`, 'g');
const lineBreak = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;

type Side = 'both' | 'left' | 'right';

/**
 * Removes the characters at the ends of the text for which `isOuter` is true. A pattern such as
 * `\s+$` would take quadratic time for a long run inside the text.
 */
function trimmed(text: string, isOuter: (character: string) => boolean, side: Side): string {
  let [from, to] = [0, text.length];
  while (side !== 'right' && from < to && isOuter(text.charAt(from))) from++;
  while (side !== 'left' && to > from && isOuter(text.charAt(to - 1))) to--;
  return text.slice(from, to);
}

export const trimLineBreaks = (text: string, side: Side = 'both'): string =>
  trimmed(text, (character) => character === '\n', side);

/** Python's `strip`, `lstrip` and `rstrip`; without `characters`, they remove white space. */
export function strip(text: string, side: Side = 'both', characters?: string): string {
  if (characters === undefined) return trimmed(text, (character) => isSpace.test(character), side);
  const letters = Array.from(text);
  const set = new Set(characters);
  let [from, to] = [0, letters.length];
  while (side !== 'right' && from < to && set.has(letters[from] ?? '')) from++;
  while (side !== 'left' && to > from && set.has(letters[to - 1] ?? '')) to--;
  return letters.slice(from, to).join('');
}

export function splitLines(text: string): readonly string[] {
  const lines = text.split(lineBreak);
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

export const capitalize = (text: string): string => {
  const [first = '', ...rest] = Array.from(text);
  return first.toUpperCase() + rest.join('').toLowerCase();
};

/** Replaces at most `count` occurrences, or all if `count` is negative. */
export function replace(text: string, from: string, to: string, count = -1): string {
  if (count < 0) return text.replaceAll(from, () => to);
  const parts = text.split(from);
  const head = parts.slice(0, count + 1).join(to);
  const tail = parts.slice(count + 1);
  return tail.length === 0 ? head : [head, ...tail].join(from);
}

function split(text: string, separator: Value, limit: number): readonly string[] {
  if (separator === null || separator === undefined) return splitSpaces(text, limit);
  const parts = text.split(asText(separator));
  if (limit < 0 || parts.length <= limit + 1) return parts;
  return [...parts.slice(0, limit), parts.slice(limit).join(asText(separator))];
}

/**
 * Splits at white space. As in Python, the text after the last split keeps its trailing white
 * space.
 */
function splitSpaces(text: string, limit: number): readonly string[] {
  const parts: string[] = [];
  for (const { 0: word, index } of text.matchAll(words)) {
    if (limit >= 0 && parts.length === limit) return [...parts, text.slice(index)];
    parts.push(word);
  }
  return parts;
}

function splitRight(text: string, separator: Value, limit: number): readonly string[] {
  const parts = split(text, separator, -1);
  if (limit < 0 || parts.length <= limit + 1) return parts;
  const at = parts.length - limit;
  const glue = separator === null || separator === undefined ? ' ' : asText(separator);
  return [parts.slice(0, at).join(glue), ...parts.slice(at)];
}

function partition(text: string, separator: string, at: number, missing: readonly string[]): Value {
  if (at < 0) return tuple(missing);
  return tuple([text.slice(0, at), separator, text.slice(at + separator.length)]);
}

/** Python's `str.format` with positional, numbered and named fields, but without format codes. */
function format(
  text: string,
  args: readonly Value[],
  keywords: ReadonlyMap<string, Value>,
): string {
  let next = 0;
  return text.replaceAll(/\{\{|\}\}|\{(\w*)\}/g, (field, name: string | undefined) => {
    if (name === undefined) return field.charAt(0);
    const value = /^\d*$/.test(name)
      ? args[name === '' ? next++ : Number(name)]
      : keywords.get(name);
    return str(value);
  });
}

function asText(value: Value): string {
  if (typeof value === 'string') return value;
  throw new Error(`expected str, got ${typeName(value)}`);
}

const asCount = (value: Value, missing: number): number => numeric(value) ?? missing;

/**
 * True if any string matches. `value` is a string or a tuple of strings, as for `startswith` and
 * `endswith`.
 */
const anyText = (value: Value, matches: (text: string) => boolean): boolean =>
  isList(value) ? value.some((each) => matches(asText(each))) : matches(asText(value));

const only = (text: string, pattern: RegExp): boolean => pattern.test(text);

function joined(separator: string, value: Value): string {
  if (isList(value)) return value.map(asText).join(separator);
  if (isDict(value)) return [...value.keys()].map(asText).join(separator);
  return Array.from(asText(value)).join(separator);
}

/** Python's `str.title()`: a capital after everything that is not a letter. */
const titleCase = (text: string): string => text.replaceAll(/\p{L}+/gu, (word) => capitalize(word));

type Method = (text: string, args: readonly Value[], keywords: ReadonlyMap<string, Value>) => Value;

const chars = (value: Value): string | undefined =>
  value === undefined || value === null ? undefined : asText(value);

const methods: Readonly<Record<string, Method>> = {
  capitalize: (text) => capitalize(text),
  casefold: (text) => text.toLowerCase(),
  count: (text, [part]) => text.split(asText(part)).length - 1,
  endswith: (text, [end]) => anyText(end, (each) => text.endsWith(each)),
  find: (text, [part]) => text.indexOf(asText(part)),
  format,
  index: (text, [part]) => found(text.indexOf(asText(part))),
  isalnum: (text) => only(text, /^[\p{L}\p{N}]+$/u),
  isalpha: (text) => only(text, /^\p{L}+$/u),
  isascii: (text) => only(text, /^[\x00-\x7f]*$/),
  isdecimal: (text) => only(text, /^\p{Nd}+$/u),
  isdigit: (text) => only(text, /^\p{Nd}+$/u),
  islower: (text) => text !== text.toUpperCase() && text === text.toLowerCase(),
  isnumeric: (text) => only(text, /^\p{N}+$/u),
  isspace: (text) => text !== '' && strip(text) === '',
  isupper: (text) => text !== text.toLowerCase() && text === text.toUpperCase(),
  join: (text, [items]) => joined(text, items),
  ljust: (text, [width, fill]) => text.padEnd(asCount(width, 0), chars(fill) ?? ' '),
  lower: (text) => text.toLowerCase(),
  lstrip: (text, [set]) => strip(text, 'left', chars(set)),
  partition: (text, [part]) =>
    partition(text, asText(part), text.indexOf(asText(part)), [text, '', '']),
  removeprefix: (text, [start]) =>
    text.startsWith(asText(start)) ? text.slice(asText(start).length) : text,
  removesuffix: (text, [end]) =>
    text.endsWith(asText(end)) ? text.slice(0, text.length - asText(end).length) : text,
  replace: (text, [from, to, count], keywords) =>
    replace(text, asText(from), asText(to), asCount(count ?? keywords.get('count'), -1)),
  rfind: (text, [part]) => text.lastIndexOf(asText(part)),
  rindex: (text, [part]) => found(text.lastIndexOf(asText(part))),
  rjust: (text, [width, fill]) => text.padStart(asCount(width, 0), chars(fill) ?? ' '),
  rpartition: (text, [part]) =>
    partition(text, asText(part), text.lastIndexOf(asText(part)), ['', '', text]),
  rsplit: (text, [separator, limit], keywords) =>
    splitRight(
      text,
      separator ?? keywords.get('sep'),
      asCount(limit ?? keywords.get('maxsplit'), -1),
    ),
  rstrip: (text, [set]) => strip(text, 'right', chars(set)),
  split: (text, [separator, limit], keywords) =>
    split(text, separator ?? keywords.get('sep'), asCount(limit ?? keywords.get('maxsplit'), -1)),
  splitlines: (text) => splitLines(text),
  startswith: (text, [start]) => anyText(start, (each) => text.startsWith(each)),
  strip: (text, [set]) => strip(text, 'both', chars(set)),
  title: (text) => titleCase(text),
  upper: (text) => text.toUpperCase(),
  zfill: (text, [width]) => text.padStart(asCount(width, 0), '0'),
};

function found(at: number): number {
  if (at < 0) throw new Error('substring not found');
  return at;
}

export const textMethodNames: readonly string[] = Object.keys(methods);

/** The method, bound to the text; undefined if strings have no such method. */
export function textMethod(text: string, name: string): Callable | undefined {
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined;
  return method && ((args, keywords) => method(text, args, keywords));
}
