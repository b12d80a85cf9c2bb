/** Python's string methods. */
import { format } from './formats.js';
import { methodOf, type Methods } from './parameters.js';
import {
  asText,
  capitalize,
  nonEmpty,
  replace,
  split,
  splitLines,
  splitRight,
  strip,
} from './texts.js';
import {
  isDict,
  isList,
  lengthOf,
  numeric,
  truthy,
  tuple,
  type Callable,
  type Value,
} from './values.js';

function partition(text: string, separator: string, at: number, missing: readonly string[]): Value {
  if (at < 0) return tuple(missing);
  return tuple([text.slice(0, at), separator, text.slice(at + separator.length)]);
}

const asCount = (value: Value, missing: number): number => numeric(value) ?? missing;

/**
 * Returns true if `matches` returns true for any of the strings in `value`, which is a string or a
 * tuple of strings, as for `startswith` and `endswith`.
 */
const anyText = (value: Value, matches: (text: string) => boolean): boolean =>
  isList(value) ? value.some((each) => matches(asText(each))) : matches(asText(value));

/**
 * Returns the characters [start, end) of a string, and the index of the first one. Indices are
 * Python's: they count characters, from the end if negative. Returns undefined if start is after
 * end.
 */
function range(
  text: string,
  start: Value,
  end: Value,
): { readonly text: string; readonly from: number } | undefined {
  const [first, last] = [numeric(start), numeric(end)];
  if (first === undefined && last === undefined) return { text, from: 0 };
  const letters = Array.from(text);
  const index = (value: number): number =>
    value < 0 ? Math.max(0, value + letters.length) : value;
  const [from, to] = [index(first ?? 0), Math.min(index(last ?? Infinity), letters.length)];
  return from <= to ? { text: letters.slice(from, to).join(''), from } : undefined;
}

/**
 * Creates `find` and `rfind`, which return the position of a substring, counted in characters, or
 * -1 if the substring does not occur.
 */
const position =
  (search: 'indexOf' | 'lastIndexOf'): Apply =>
  (text, [part, start, end]) => {
    const searched = range(text, start, end);
    const at = searched?.text[search](asText(part)) ?? -1;
    return searched && at >= 0 ? searched.from + lengthOf(searched.text.slice(0, at)) : -1;
  };

/**
 * Creates `index` and `rindex`, which are like `position` but throw if the substring does not
 * occur.
 */
const place =
  (search: 'indexOf' | 'lastIndexOf'): Apply =>
  (text, args) => {
    const at = position(search)(text, args);
    if (at === -1) throw new Error('substring not found');
    return at;
  };

/**
 * Creates `startswith` and `endswith`, which return true if the string begins or ends with one of
 * the given strings.
 */
const affix =
  (has: 'startsWith' | 'endsWith'): Apply =>
  (text, [part, start, end]) => {
    const searched = range(text, start, end);
    return anyText(part, (each) => searched?.text[has](each) === true);
  };

function count(text: string, [part, start, end]: readonly Value[]): number {
  const searched = range(text, start, end);
  if (!searched) return 0;
  const wanted = asText(part);
  return wanted === '' ? lengthOf(searched.text) + 1 : searched.text.split(wanted).length - 1;
}

/** Returns the fill characters that a string needs to be `width` characters wide. */
const padding = (text: string, width: Value, fill: Value): string => {
  const character = chars(fill) ?? ' ';
  if (lengthOf(character) !== 1) throw new Error('the fill character is not one character');
  return character.repeat(Math.max(0, asCount(width, 0) - lengthOf(text)));
};

/**
 * Implements Python's `center`. If the number of fill characters is odd, the extra one is on the
 * left if the width is odd, otherwise on the right.
 */
export function center(text: string, [width, fill]: readonly Value[]): string {
  const space = Array.from(padding(text, width, fill));
  const left = Math.floor(space.length / 2) + (space.length & asCount(width, 0) & 1);
  return space.slice(0, left).join('') + text + space.slice(left).join('');
}

function zeroFill(text: string, width: Value): string {
  const sign = /^[+-]?/.exec(text)?.[0] ?? '';
  return sign + padding(text, width, '0') + text.slice(sign.length);
}

const only = (text: string, pattern: RegExp): boolean => pattern.test(text);

function joined(separator: string, value: Value): string {
  if (isList(value)) return value.map(asText).join(separator);
  if (isDict(value)) return [...value.keys()].map(asText).join(separator);
  return Array.from(asText(value)).join(separator);
}

/**
 * Implements Python's `str.title()`: each run of letters becomes a capital followed by lower case.
 */
const titleCase = (text: string): string => text.replaceAll(/\p{L}+/gu, (word) => capitalize(word));

type Apply = (text: string, args: readonly Value[]) => Value;

const chars = (value: Value): string | undefined =>
  value === undefined || value === null ? undefined : asText(value);

const places = ['sub', 'start', 'end'];
const splits = ['sep', 'maxsplit'];

const methods: Methods<string> = {
  capitalize: [[], (text) => capitalize(text)],
  casefold: [[], (text) => text.toLowerCase()],
  center: [['width', 'fillchar'], center],
  count: [places, count],
  endswith: [places, affix('endsWith')],
  find: [places, position('indexOf')],
  index: [places, place('indexOf')],
  isalnum: [[], (text) => only(text, /^[\p{L}\p{N}]+$/u)],
  isalpha: [[], (text) => only(text, /^\p{L}+$/u)],
  isascii: [[], (text) => only(text, /^[\x00-\x7f]*$/)],
  isdecimal: [[], (text) => only(text, /^\p{Nd}+$/u)],
  isdigit: [[], (text) => only(text, /^\p{Nd}+$/u)],
  islower: [[], (text) => text !== text.toUpperCase() && text === text.toLowerCase()],
  isnumeric: [[], (text) => only(text, /^\p{N}+$/u)],
  isspace: [[], (text) => text !== '' && strip(text) === ''],
  isupper: [[], (text) => text !== text.toLowerCase() && text === text.toUpperCase()],
  join: [['iterable'], (text, [items]) => joined(text, items)],
  ljust: [['width', 'fillchar'], (text, [width, fill]) => text + padding(text, width, fill)],
  lower: [[], (text) => text.toLowerCase()],
  lstrip: [['chars'], (text, [set]) => strip(text, 'left', chars(set))],
  partition: [
    ['sep'],
    (text, [part]) => partition(text, nonEmpty(part), text.indexOf(asText(part)), [text, '', '']),
  ],
  removeprefix: [
    ['prefix'],
    (text, [start]) => (text.startsWith(asText(start)) ? text.slice(asText(start).length) : text),
  ],
  removesuffix: [
    ['suffix'],
    (text, [end]) =>
      text.endsWith(asText(end)) ? text.slice(0, text.length - asText(end).length) : text,
  ],
  replace: [
    ['old', 'new', 'count'],
    (text, [from, to, most]) => replace(text, asText(from), asText(to), asCount(most, -1)),
  ],
  rfind: [places, position('lastIndexOf')],
  rindex: [places, place('lastIndexOf')],
  rjust: [['width', 'fillchar'], (text, [width, fill]) => padding(text, width, fill) + text],
  rpartition: [
    ['sep'],
    (text, [part]) =>
      partition(text, nonEmpty(part), text.lastIndexOf(asText(part)), ['', '', text]),
  ],
  rsplit: [splits, (text, [separator, most]) => splitRight(text, separator, asCount(most, -1))],
  rstrip: [['chars'], (text, [set]) => strip(text, 'right', chars(set))],
  split: [splits, (text, [separator, most]) => split(text, separator, asCount(most, -1))],
  splitlines: [['keepends'], (text, [keepEnds]) => splitLines(text, truthy(keepEnds))],
  startswith: [places, affix('startsWith')],
  strip: [['chars'], (text, [set]) => strip(text, 'both', chars(set))],
  title: [[], (text) => titleCase(text)],
  upper: [[], (text) => text.toUpperCase()],
  zfill: [['width'], (text, [width]) => zeroFill(text, width)],
};

export const textMethodNames: readonly string[] = [...Object.keys(methods), 'format'];

/** Returns the string method of this name, bound to the string; undefined if there is none. */
export function textMethod(text: string, name: string): Callable | undefined {
  return name === 'format'
    ? (args, keywords) => format(text, args, keywords)
    : methodOf(methods, text, name);
}
