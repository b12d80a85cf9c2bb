/**
 * Scalar values of the schema. Strings are converted, because environment variables are strings.
 */
import { z } from 'zod';

/**
 * Metadata of schemas. `text` describes the expected value in messages. `aliases` are additional
 * names of an enumeration for the JSON Schema.
 */
export const expectations = z.registry<{ text: string; aliases?: readonly string[] }>();

/**
 * Creates the schema of a value that is converted before it is checked. `text` describes the
 * expected value in messages.
 */
export function cast<S extends z.ZodType>(
  convert: (value: unknown) => unknown,
  inner: S,
  text: string,
  aliases: readonly string[] = [],
): z.ZodPreprocess<S> {
  const schema = z.preprocess(convert, inner);
  expectations.add(schema, { text, aliases });
  return schema;
}

export interface Range {
  readonly min?: number;
  readonly max?: number;
  /** Exclusive lower bound. */
  readonly above?: number;
  readonly below?: number;
}

function inWords(noun: string, range: Range): string {
  const parts = [
    range.min === undefined ? '' : `at least ${range.min}`,
    range.above === undefined ? '' : `above ${range.above}`,
    range.max === undefined ? '' : `at most ${range.max}`,
    range.below === undefined ? '' : `below ${range.below}`,
  ].filter((part) => part !== '');
  return parts.length === 0 ? noun : `${noun}, ${parts.join(' and ')}`;
}

function bounded<S extends z.ZodNumber>(schema: S, range: Range): S {
  let result = schema;
  if (range.min !== undefined) result = result.min(range.min);
  if (range.max !== undefined) result = result.max(range.max);
  if (range.above !== undefined) result = result.gt(range.above);
  if (range.below !== undefined) result = result.lt(range.below);
  return result;
}

/** Converts a string that contains a number to this number. Returns other values unchanged. */
export function toNumber(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[-+]?[_.]*\d[\d_.]*(?:e[-+]?\d+)?\s*$/i.test(value))
    return value;
  const number = Number(value.replaceAll('_', ''));
  return Number.isNaN(number) ? value : number;
}

/** Schema of an integer, which may be written as a string. */
export const int = (range: Range = {}): z.ZodPreprocess<z.ZodInt> =>
  cast(toNumber, bounded(z.int(), range), inWords('a whole number', range));

/** Schema of a finite number, which may be written as a string. */
export const float = (range: Range = {}): z.ZodPreprocess<z.ZodNumber> =>
  cast(toNumber, bounded(z.number(), range), inWords('a number', range));

/** Schema of a finite number, which may be written as a string, or of one word in its place. */
export const floatOr = <const W extends string>(
  instead: W,
  range: Range = {},
): z.ZodPreprocess<z.ZodUnion<[z.ZodLiteral<W>, z.ZodNumber]>> =>
  cast(
    toNumber,
    z.union([z.literal(instead), bounded(z.number(), range)]),
    `${inWords('a number', range)}, or ${instead}`,
  );

const flagWords: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  y: true,
  '1': true,
  false: false,
  no: false,
  off: false,
  n: false,
  '0': false,
};

/** Schema of a boolean, which may be written as one of the words of YAML 1.1. */
export const flag = (): z.ZodPreprocess<z.ZodBoolean> =>
  cast(
    (value) =>
      typeof value === 'string' || typeof value === 'number'
        ? (flagWords[String(value).trim().toLowerCase()] ?? value)
        : value,
    z.boolean(),
    'true or false',
  );

/** Schema of a string. A number is converted to a string. */
export const text = (): z.ZodPreprocess<z.ZodString> =>
  cast((value) => (typeof value === 'number' ? String(value) : value), z.string(), 'text');

/** Schema of a non-empty string. */
export const word = (): z.ZodPreprocess<z.ZodString> =>
  cast(
    (value) => (typeof value === 'number' ? String(value) : value),
    z.string().min(1),
    'text that is not empty',
  );

type Values = readonly [string, ...string[]];
type Literals<V extends Values> = { [K in V[number]]: K };

/**
 * Schema of one of several names, in upper or lower case. `aliases` maps other spellings to these
 * names.
 */
export function oneOf<const V extends Values>(
  values: V,
  aliases: Readonly<Record<string, V[number]>> = {},
): z.ZodPreprocess<z.ZodEnum<Literals<V>>> {
  const known = new Map<string, string>([
    ...values.map((value) => [value.toLowerCase(), value] as const),
    ...Object.entries(aliases),
  ]);
  const convert = (value: unknown): unknown =>
    typeof value === 'string' ? (known.get(value.trim().toLowerCase()) ?? value) : value;
  return cast(
    convert,
    z.enum(values) as unknown as z.ZodEnum<Literals<V>>,
    `one of ${values.join(', ')}`,
    Object.keys(aliases),
  );
}

/** Schema of a list of exactly two values. `words` describes the list in messages. */
export function pairOf<S extends z.ZodType>(item: S, words: string): z.ZodTuple<[S, S], null> {
  const schema = z.tuple([item, item]);
  expectations.add(schema, { text: words });
  return schema;
}

/** Schema of a section whose keys the user chooses. */
export const dict = (): z.ZodRecord<z.ZodString, z.ZodUnknown> => z.record(z.string(), z.unknown());
