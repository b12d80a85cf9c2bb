/** Jinja's filters, as in `x | trim`. */
import { pairs } from './access.js';
import { listFilters, mapAttribute, type Filter } from './list-filters.js';
import { fixed, interpolate } from './formats.js';
import { bind } from './parameters.js';
import { dumps, str } from './spelling.js';
import { center } from './text-methods.js';
import { capitalize, replace, splitLines, strip } from './texts.js';
import {
  Float,
  isDict,
  isInt,
  isList,
  iterate,
  lengthOf,
  numeric,
  truthy,
  typeName,
  type Keywords,
  type Value,
} from './values.js';

/** Implements the filter `tojson` of transformers: `json.dumps` with some of its arguments. */
function toJson(value: Value, args: readonly Value[]): Value {
  const [ensureAscii, indent, separators, sortKeys] = args;
  return dumps(value, {
    ensureAscii: truthy(ensureAscii),
    indent: isInt(indent) ? Number(indent) : typeof indent === 'string' ? indent : undefined,
    separators: isList(separators) ? [str(separators[0]), str(separators[1])] : undefined,
    sortKeys: truthy(sortKeys),
  });
}

function indentLines(value: Value, args: readonly Value[]): Value {
  const width = args[0] ?? 4;
  const first = truthy(args[1]);
  const blank = truthy(args[2]);
  const space = typeof width === 'string' ? width : ' '.repeat(numeric(width) ?? 4);
  const lines = splitLines(`${str(value)}\n`);
  const text = lines
    .map((line, i) => (i > 0 && (blank || line !== '') ? space + line : line))
    .join('\n');
  return first ? space + text : text;
}

/**
 * Converts a number, or a string in the given base, to an int. Returns the default for a value that
 * cannot be converted.
 */
function int(value: Value, args: readonly Value[]): Value {
  const otherwise = args[0] ?? 0;
  const base = numeric(args[1]) ?? 10;
  if (typeof value !== 'string') {
    const number = numeric(value);
    return number === undefined ? otherwise : Math.trunc(number);
  }
  const text = strip(value);
  if (base !== 10) return orElse(Number.parseInt(text, base), otherwise);
  if (/^[+-]?\d+$/.test(text)) return Number(text);
  const number = floatOf(text);
  return number === undefined ? otherwise : Math.trunc(number);
}

const orElse = (number: number, otherwise: Value): Value =>
  Number.isNaN(number) ? otherwise : number;

function float(value: Value, args: readonly Value[]): Value {
  const number = typeof value === 'string' ? floatOf(strip(value)) : numeric(value);
  const otherwise = args[0] ?? new Float(0);
  return number === undefined ? otherwise : new Float(number);
}

const floatOf = (text: string): number | undefined =>
  /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;

/** Implements the filter `round`. Halves are rounded to the even neighbour, as in Python. */
function round(value: Value, args: readonly Value[]): Value {
  const digits = numeric(args[0]) ?? 0;
  const method = str(args[1] ?? 'common');
  const number = numeric(value);
  if (number === undefined) throw new Error(`round needs a number, got ${typeName(value)}`);
  const scale = 10 ** digits;
  if (method !== 'common')
    return new Float((method === 'ceil' ? Math.ceil : Math.floor)(number * scale) / scale);
  if (digits < 0) throw new Error('round does not support negative digits');
  return isInt(value) ? value : new Float(Number(fixed(number, digits)));
}

function absolute(value: Value): Value {
  const number = numeric(value);
  if (number === undefined) throw new Error(`abs needs a number, got ${typeName(value)}`);
  return value instanceof Float ? new Float(Math.abs(number)) : Math.abs(number);
}

function fallback(value: Value, args: readonly Value[]): Value {
  const whenFalse = truthy(args[1]);
  const missing = value === undefined || (whenFalse && !truthy(value));
  if (!missing) return value;
  return args[0] === undefined && args.length !== 1 ? '' : args[0];
}

function items(value: Value): Value {
  if (value === undefined) return [];
  if (!isDict(value)) throw new Error(`items needs a dict, got ${typeName(value)}`);
  return pairs(value);
}

/**
 * Implements Jinja's `title`, in which a capital follows white space, hyphens and opening brackets.
 * Python's `str.title` differs.
 */
const title = (text: string): string =>
  text
    .split(/([-\s({[<]+)/)
    .map((part) => capitalize(part))
    .join('');

const htmlEscapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  "'": '&#39;',
  '"': '&#34;',
};

const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>'"]/g, (character) => htmlEscapes[character] ?? character);

/** Python's `urllib.parse.quote`, which also encodes some marks that JavaScript keeps. */
const quoteUrl = (text: string): string =>
  encodeURIComponent(text)
    .replaceAll('%2F', '/')
    .replaceAll(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);

/** Implements Jinja's `urlencode`: quotes a text, or writes a dict or list of pairs as a query. */
function urlEncode(value: Value): string {
  if (!isDict(value) && !isList(value)) return quoteUrl(str(value));
  const part = (each: Value): string =>
    quoteUrl(str(each)).replaceAll('/', '%2F').replaceAll('%20', '+');
  return iterate(isDict(value) ? pairs(value) : value)
    .map((pair) => iterate(pair).map(part).join('='))
    .join('&');
}

const filters: Readonly<Record<string, Filter>> = {
  ...listFilters,
  abs: absolute,
  capitalize: (value) => capitalize(str(value)),
  center: (value, [width]) => center(str(value), [width ?? 80]),
  count: lengthOf,
  d: fallback,
  default: fallback,
  e: (value) => escapeHtml(str(value)),
  escape: (value) => escapeHtml(str(value)),
  float,
  format: (value, args, keywords) => {
    if (keywords.size > 0) throw new Error('format with names is not supported');
    return interpolate(str(value), args);
  },
  indent: indentLines,
  int,
  items,
  length: lengthOf,
  lower: (value) => str(value).toLowerCase(),
  map: (value, args, keywords) => {
    if (args.length === 0) return mapAttribute(value, keywords);
    const filter = filterNamed(str(args[0]));
    return iterate(value).map((each) => filter(each, args.slice(1), keywords));
  },
  replace: (value, [from, to, count]) =>
    replace(str(value), str(from), str(to), numeric(count) ?? -1),
  round,
  safe: (value) => value,
  string: str,
  title: (value) => title(str(value)),
  tojson: toJson,
  trim: (value, [set]) => strip(str(value), 'both', typeof set === 'string' ? set : undefined),
  upper: (value) => str(value).toUpperCase(),
  urlencode: urlEncode,
  wordcount: (value) => str(value).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0,
};

export const filterNames: readonly string[] = Object.keys(filters);

/** Names of the parameters of each filter. Filters that are not listed have no parameters. */
const parameters: Readonly<Record<string, readonly string[]>> = {
  attr: ['name'],
  batch: ['linecount', 'fill_with'],
  center: ['width'],
  d: ['default_value', 'boolean'],
  default: ['default_value', 'boolean'],
  dictsort: ['case_sensitive', 'by', 'reverse'],
  float: ['default'],
  groupby: ['attribute', 'default', 'case_sensitive'],
  indent: ['width', 'first', 'blank'],
  int: ['default', 'base'],
  join: ['d', 'attribute'],
  max: ['case_sensitive', 'attribute'],
  min: ['case_sensitive', 'attribute'],
  replace: ['old', 'new', 'count'],
  round: ['precision', 'method'],
  sort: ['reverse', 'case_sensitive', 'attribute'],
  sum: ['attribute', 'start'],
  tojson: ['ensure_ascii', 'indent', 'separators', 'sort_keys'],
  trim: ['chars'],
  unique: ['case_sensitive', 'attribute'],
};

/** Filters that accept any number of arguments, with any names. */
const variadic: ReadonlySet<string> = new Set([
  'format',
  'map',
  'reject',
  'rejectattr',
  'select',
  'selectattr',
]);

/**
 * Returns the filter called `name`, as a function that takes positional and keyword arguments.
 * @throws Error for an unknown name
 */
export function filterNamed(name: string): Filter {
  const filter = Object.hasOwn(filters, name) ? filters[name] : undefined;
  if (!filter) throw new Error(`there is no filter "${name}"`);
  if (variadic.has(name)) return filter;
  return (value, args, keywords) =>
    filter(value, bind(name, parameters[name] ?? [], args, keywords), noKeywords);
}

const noKeywords: Keywords = new Map();
