/** Python's string formatting: `'%05.2f' % x`, `'{:>8}'.format(x)` and rounding. */
import { repr, str } from './spelling.js';
import { isInt, lengthOf, numeric, typeName, type Keywords, type Value } from './values.js';

/**
 * Formats a number with `digits` decimal places. Rounds halves to the even neighbour, as in Python.
 */
export function fixed(value: number, digits: number): string {
  if (!Number.isFinite(value) || Math.abs(value) >= 1e21 || digits > 90)
    throw new Error(`${value} with ${digits} digits is not supported`);
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  // oxlint-disable-next-line oxc/number-arg-out-of-range -- 100 digits are allowed since ECMAScript 2018
  const exact = Math.abs(value).toFixed(100);
  const end = exact.indexOf('.') + 1 + digits;
  const low = exact.slice(0, digits === 0 ? end - 1 : end);
  const isHalf = /^50*$/.test(exact.slice(end));
  return sign + (isHalf && /[02468]$/.test(low) ? low : Math.abs(value).toFixed(digits));
}

interface Style {
  readonly kind: string;
  readonly digits: number | undefined;
  /** True to separate thousands by commas. */
  readonly grouped?: boolean;
  /** Sign of a number that is not negative: `+`, a space, or an empty string. */
  readonly plus: string;
}

/**
 * Formats a value in the style of a conversion type, such as `d` or `f`.
 * @throws Error for a conversion type that is not supported
 */
function formatted(value: Value, { kind, digits, grouped = false, plus }: Style): string {
  if (kind === 's') return Array.from(str(value)).slice(0, digits).join('');
  if (kind === 'r') return Array.from(repr(value)).slice(0, digits).join('');
  const number = numeric(value);
  if (number === undefined) throw new Error(`${kind} needs a number, got ${typeName(value)}`);
  const text = numberText(value, number, kind, digits);
  const [whole = '', ...rest] = text.replace('-', '').split('.');
  const body = [grouped ? whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ',') : whole, ...rest].join('.');
  return (text.startsWith('-') ? '-' : plus) + body;
}

const bases: Readonly<Record<string, number>> = { b: 2, o: 8, x: 16, X: 16 };

function numberText(value: Value, number: number, kind: string, digits?: number): string {
  if (kind === 'f' || kind === 'F') return fixed(number, digits ?? 6);
  if (digits !== undefined) throw new Error('an int with digits is not supported');
  if (kind === 'd') return isInt(value) ? `${value}` : `${Math.trunc(number)}`;
  const base = bases[kind];
  if (base === undefined || !isInt(value))
    throw new Error(`the format ${kind} of ${typeName(value)} is not supported`);
  const text = value.toString(base);
  return kind === 'X' ? text.toUpperCase() : text;
}

/** Pads a string to a width. With the alignment `=`, the padding is inserted after the sign. */
function padded(text: string, width: number, align: string, fill: string): string {
  const missing = Math.max(0, width - lengthOf(text));
  if (align === '<') return text + fill.repeat(missing);
  if (align === '>') return fill.repeat(missing) + text;
  const sign = align === '=' ? (/^[-+ ]?/.exec(text)?.[0] ?? '') : '';
  const left = align === '=' ? missing : Math.floor(missing / 2);
  return sign + fill.repeat(left) + text.slice(sign.length) + fill.repeat(missing - left);
}

const plusOf = (flags: string): string =>
  flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '';

/** Implements Python's `'%s: %d' % (a, b)`, which is also the filter `format`. */
export function interpolate(text: string, values: readonly Value[]): string {
  let next = 0;
  const written = text.replaceAll(
    /%([-+ 0]*)(\d*)(?:\.(\d*))?([^]?)/g,
    (field, flags: string, width: string, digits: string | undefined, kind: string) => {
      if (field === '%%') return '%';
      if (!'srdifFxXo'.includes(kind) || kind === '')
        throw new Error(`the format "${field}" is not supported`);
      if (next >= values.length) throw new Error(`there is no value for "${field}"`);
      const isNumber = !'sr'.includes(kind);
      const style = { kind: kind === 'i' ? 'd' : kind, plus: isNumber ? plusOf(flags) : '' };
      const own = formatted(values[next++], {
        ...style,
        digits: digits === undefined ? undefined : Number(digits),
      });
      const align = flags.includes('-') ? '<' : isNumber && flags.includes('0') ? '=' : '>';
      return padded(own, Number(width), align, align === '=' ? '0' : ' ');
    },
  );
  if (next < values.length) throw new Error('there are more values than fields in the text');
  return written;
}

const specification = /^(?:([^])?([<>=^]))?([-+ ])?(0)?(\d*)(,)?(?:\.(\d+))?([sdfFxXob]?)$/u;

/**
 * Formats a value like Python's `'{:spec}'.format(value)`, where `spec` is the format
 * specification.
 */
function specified(value: Value, spec: string): string {
  if (spec === '') return str(value);
  const [whole, fill, align, sign = '', zero, width = '', comma, digits, kind = ''] =
    specification.exec(spec) ?? [];
  const isText = typeof value === 'string';
  const own = kind === '' ? (isText ? 's' : isInt(value) ? 'd' : '') : kind;
  if (whole === undefined || own === '' || isText !== (own === 's'))
    throw new Error(`the format "${spec}" of ${typeName(value)} is not supported`);
  const text = formatted(value, {
    kind: own,
    digits: digits === undefined ? undefined : Number(digits),
    grouped: comma !== undefined,
    plus: plusOf(sign),
  });
  if (comma !== undefined && zero !== undefined)
    throw new Error(`the format "${spec}" is not supported`);
  const side = align ?? (zero !== undefined && !isText ? '=' : isText ? '<' : '>');
  return padded(text, Number(width), side, fill ?? (zero === undefined ? ' ' : '0'));
}

/** Implements Python's `str.format` with positional, numbered and named fields. */
export function format(text: string, args: readonly Value[], keywords: Keywords): string {
  let next = 0;
  return text.replaceAll(
    /\{\{|\}\}|\{(\w*)(?:!([rs]))?(?::([^{}]*))?\}|[{}]/g,
    (field, name: string | undefined, conversion: string | undefined, spec = '') => {
      if (field === '{{' || field === '}}') return field.charAt(0);
      if (name === undefined) throw new Error(`"${text}" has a field that is not supported`);
      const index = name === '' ? next++ : Number(name);
      const isKnown = Number.isNaN(index) ? keywords.has(name) : index < args.length;
      if (!isKnown) throw new Error(`there is no value for "${field}"`);
      const value = Number.isNaN(index) ? keywords.get(name) : args[index];
      if (conversion === undefined) return specified(value, spec);
      return specified(conversion === 'r' ? repr(value) : str(value), spec);
    },
  );
}
