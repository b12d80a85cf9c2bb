/** Converts values to strings as Python does: `str`, `repr` and `json.dumps`. */
import {
  compare,
  Float,
  Tuple,
  isDict,
  isList,
  typeName,
  type Dict,
  type Value,
} from './values.js';

/** Implements Python's `str(value)`. Returns an empty string for undefined. */
export function str(value: Value): string {
  if (typeof value === 'string') return value;
  return value === undefined ? '' : repr(value);
}

/** Implements Python's `repr(value)`. */
export function repr(value: Value): string {
  if (typeof value === 'string') return reprText(value);
  if (value === undefined) return 'Undefined';
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (value instanceof Float) return floatText(value.value);
  if (isList(value)) return reprList(value);
  if (isDict(value)) return `{${entries(value, ([k, v]) => `${repr(k)}: ${repr(v)}`)}}`;
  return typeof value === 'object' || typeof value === 'function' ? '<object>' : `${value}`;
}

function reprList(list: readonly Value[]): string {
  const items = list.map(repr).join(', ');
  if (!(list instanceof Tuple)) return `[${items}]`;
  return list.length === 1 ? `(${items},)` : `(${items})`;
}

const entries = (dict: Dict, print: (entry: [Value, Value]) => string): string =>
  Array.from(dict, print).join(', ');

const shortEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Implements Python's `repr` of a string: in double quotes if it contains single quotes but no
 * double quotes, otherwise in single quotes.
 */
function reprText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const body = text.replaceAll(/[\\'\p{C}\p{Z}]/gu, (character) => {
    if (character === ' ') return character;
    if (character === '\\') return '\\\\';
    if (character === "'") return quote === "'" ? "\\'" : character;
    return shortEscapes[character] ?? escaped(character.codePointAt(0) ?? 0);
  });
  return quote + body + quote;
}

function escaped(code: number): string {
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

/**
 * Implements Python's `repr` of a float. As in JavaScript, it has as few digits as possible, but
 * always a point or an exponent. Numbers below 1e-4 and from 1e16 on have an exponent of at least
 * two digits.
 */
function floatText(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value < 0 ? '-inf' : 'inf';
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power < -4 || power >= 16) {
    const sign = power < 0 ? '-' : '+';
    return `${digits}e${sign}${String(Math.abs(power)).padStart(2, '0')}`;
  }
  const text = `${value}`;
  return text.includes('.') ? text : `${text}.0`;
}

export interface JsonStyle {
  readonly ensureAscii?: boolean;
  /**
   * Indentation per level: a number of spaces, or the string that is inserted.
   * @default undefined: everything on one line
   */
  readonly indent?: number | string;
  readonly separators?: readonly [item: string, key: string];
  readonly sortKeys?: boolean;
  /**
   * True to write infinity and NaN as Python does, although they are not valid JSON; false to
   * throw.
   * @default true
   */
  readonly allowNan?: boolean;
}

/** Maximum nesting depth that `dumps` writes, which is Python's recursion limit. */
const deepest = 1000;

/** Implements Python's `json.dumps`. @throws Error for values that JSON cannot represent */
export function dumps(value: Value, style: JsonStyle = {}): string {
  const { indent, ensureAscii = false, allowNan = true } = style;
  const step = typeof indent === 'number' ? ' '.repeat(indent) : indent;
  const [itemEnd, keyEnd] = style.separators ?? [step === undefined ? ', ' : ',', ': '];
  const text = (raw: string): string => (ensureAscii ? ascii(quoted(raw)) : quoted(raw));
  const block = (open: string, items: readonly string[], close: string, level: number): string => {
    if (step === undefined || items.length === 0) return open + items.join(itemEnd) + close;
    const line = `\n${step.repeat(level + 1)}`;
    return `${open}${line}${items.join(itemEnd + line)}\n${step.repeat(level)}${close}`;
  };
  const print = (item: Value, level: number): string => {
    if (typeof item === 'string') return text(item);
    if (level > deepest) throw new Error(`a value has more than ${deepest} levels`);
    if (item instanceof Float && !allowNan && !Number.isFinite(item.value))
      throw new Error(`${floatText(item.value)} is not JSON`);
    if (isList(item))
      return block(
        '[',
        item.map((each) => print(each, level + 1)),
        ']',
        level,
      );
    if (!isDict(item)) return scalar(item);
    const members = [...item];
    if (style.sortKeys) members.sort(([a], [b]) => compare(a, b));
    const lines = members.map(
      ([key, each]) => text(keyText(key)) + keyEnd + print(each, level + 1),
    );
    return block('{', lines, '}', level);
  };
  return print(value, 0);
}

const keyText = (key: Value): string => (typeof key === 'string' ? key : scalar(key));

function scalar(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return `${value}`;
  if (typeof value === 'number' || typeof value === 'bigint') return `${value}`;
  if (value instanceof Float) return jsonFloat(value.value);
  throw new Error(`${typeName(value)} is not JSON serializable`);
}

const jsonFloat = (value: number): string =>
  Number.isFinite(value)
    ? floatText(value)
    : ({ nan: 'NaN', inf: 'Infinity', '-inf': '-Infinity' }[floatText(value)] ?? 'NaN');

/**
 * Returns a string as JSON. Like Python and unlike `JSON.stringify`, does not escape lone
 * surrogates.
 */
const quoted = (text: string): string =>
  text.isWellFormed()
    ? JSON.stringify(text)
    : `"${Array.from(text, (c) => (c.isWellFormed() ? JSON.stringify(c).slice(1, -1) : c)).join('')}"`;

const ascii = (text: string): string =>
  text.replaceAll(
    /[\u0080-\uFFFF]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
