/**
 * Arguments of strategies (such as losses and advantage functions) that YAML selects by name:
 * defaults, ranges and error messages.
 */
import { ConfigError } from './errors.js';
import { didYouMean } from './suggest.js';

/** Definition of one argument. */
export interface Arg<T> {
  /** Value if the argument is missing, undefined or null. */
  readonly fallback: T;
  /** Noun phrase for messages: `a number >= 0`. */
  readonly expected: string;
  readonly accepts: (value: unknown) => boolean;
  /** Effect of the argument, in one sentence, for the generated documentation. */
  readonly help: string;
  /** Range that `accepts` checks, as data for the JSON Schema and the generated documentation. */
  readonly form?: ArgForm;
  /**
   * Condition on other arguments. If it does not hold, the argument has no effect, and setting it
   * causes a warning.
   * @default no condition
   */
  readonly condition?: ArgCondition;
}

/** Condition on the other arguments of a strategy. */
export interface ArgCondition {
  /** Setting that meets the condition, as in YAML: `weight: advantage`. */
  readonly text: string;
  readonly holds: (args: Readonly<Record<string, unknown>>) => boolean;
}

/** Kind of value that an argument takes. */
export type ArgForm =
  | ({
      readonly type: 'number';
      /** Word that a configuration accepts in place of a number, and replaces with one. */
      readonly word?: string;
    } & NumberRange)
  | { readonly type: 'boolean' }
  | { readonly type: 'text' }
  | { readonly type: 'choice'; readonly words: readonly string[] }
  | { readonly type: 'list' };

/** Specifications of a strategy's arguments, keyed by name. */
export type ArgSpec = Readonly<Record<string, Arg<unknown>>>;

/** Values of the arguments that a specification describes, keyed by name. */
export type ArgValues<S extends ArgSpec> = { readonly [K in keyof S]: S[K]['fallback'] };

export interface NumberRange {
  readonly min?: number;
  readonly max?: number;
  /** Exclusive lower bound. */
  readonly above?: number;
}

/**
 * Defines an argument that is a finite number. If there is no fallback, the value may be undefined.
 */
export function numberArg(fallback: number, range?: NumberRange, help?: string): Arg<number>;
export function numberArg(
  fallback: undefined,
  range?: NumberRange,
  help?: string,
): Arg<number | undefined>;
export function numberArg(
  fallback: number | undefined,
  range: NumberRange = {},
  help = '',
): Arg<number | undefined> {
  const { min = -Infinity, max = Infinity, above = -Infinity } = range;
  const bounds = [
    range.above !== undefined && `> ${above}`,
    range.min !== undefined && `>= ${min}`,
    range.max !== undefined && `<= ${max}`,
  ];
  return {
    fallback,
    help,
    expected: ['a number', bounds.filter(Boolean).join(' and ')].join(' ').trim(),
    accepts: (value) =>
      typeof value === 'number' &&
      Number.isFinite(value) &&
      value >= min &&
      value <= max &&
      value > above,
    form: { type: 'number', ...range },
  };
}

/**
 * Returns the argument with a condition on other arguments. See {@link Arg.condition}.
 * @param text setting that meets the condition, as in YAML: `weight: advantage`
 */
export const onlyWith = <T>(text: string, holds: ArgCondition['holds'], arg: Arg<T>): Arg<T> => ({
  ...arg,
  condition: { text, holds },
});

/** Defines an argument that is true or false. */
export const booleanArg = (fallback: boolean, help = ''): Arg<boolean> => ({
  fallback,
  help,
  expected: 'true or false',
  accepts: (value) => typeof value === 'boolean',
  form: { type: 'boolean' },
});

/** Defines an argument that is a string, or undefined. */
export const stringArg = (help = ''): Arg<string | undefined> => ({
  fallback: undefined,
  help,
  expected: 'a text',
  accepts: (value) => typeof value === 'string',
  form: { type: 'text' },
});

/**
 * Defines an argument that is a list.
 * @param expected description of one item in messages, such as `{ name, weight }`. @default
 * fallback: an empty list
 */
export const listArg = <T>(
  expected: string,
  accepts: (item: unknown) => item is T,
  help = '',
): Arg<readonly T[]> => ({
  fallback: [],
  help,
  expected: `a list of ${expected}`,
  accepts: (value) => Array.isArray(value) && value.every(accepts),
  form: { type: 'list' },
});

/**
 * Defines an argument that is one of several strings. If there is no fallback, the value may be
 * undefined.
 */
export function choiceArg<const T extends string>(
  words: readonly T[],
  fallback: T,
  help?: string,
): Arg<T>;
export function choiceArg<const T extends string>(
  words: readonly T[],
  fallback: undefined,
  help?: string,
): Arg<T | undefined>;
export function choiceArg<const T extends string>(
  words: readonly T[],
  fallback: T | undefined,
  help = '',
): Arg<T | undefined> {
  return {
    fallback,
    help,
    expected: `one of ${words.map((word) => JSON.stringify(word)).join(', ')}`,
    accepts: (value) => words.includes(value as T),
    form: { type: 'choice', words },
  };
}

/**
 * Validates arguments, and fills in defaults.
 * @param owner name of the strategy in messages, such as `policy loss "ppo"`
 * @throws ConfigError for an unknown name or an invalid value; the message lists what is allowed
 */
export function readArgs<S extends ArgSpec>(
  owner: string,
  spec: S,
  given: object = {},
): ArgValues<S> {
  const values: Record<string, unknown> = Object.fromEntries(
    Object.entries(spec).map(([name, { fallback }]) => [name, fallback]),
  );
  assertKnownArgs(owner, given, Object.keys(spec));
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    if (value === undefined || value === null) continue;
    const arg = spec[name]!;
    if (!arg.accepts(value)) {
      throw new ConfigError(
        `The argument "${name}" of ${owner} is ${JSON.stringify(value)}; expected ${arg.expected}.`,
        {
          code: 'ARGUMENT_INVALID',
          details: { owner, name },
        },
      );
    }
    values[name] = value;
  }
  return values as ArgValues<S>;
}

/**
 * Checks the names of arguments or options.
 * @param owner what takes them, for messages
 * @throws ConfigError for an unknown name; the message lists the known names
 */
export function assertKnownArgs(owner: string, given: object, known: readonly string[]): void {
  const name = Object.keys(given).find((each) => !known.includes(each));
  if (name === undefined) return;
  const list = known.length > 0 ? `It takes ${known.join(', ')}.` : 'It takes none.';
  throw new ConfigError(
    `There is no argument "${name}" of ${owner}.${didYouMean(name, known)} ${list}`,
    {
      code: 'ARGUMENT_UNKNOWN',
      details: { owner, name, known },
    },
  );
}

/**
 * Returns a row of a table of strategies.
 * @param kind noun for the rows in messages, such as `policy loss`
 * @throws ConfigError for an unknown name; the message lists the known names
 */
export function pickRow<Row>(
  kind: string,
  table: Readonly<Record<string, Row>>,
  name: string,
): Row {
  if (Object.hasOwn(table, name)) return table[name]!;
  const known = Object.keys(table);
  throw new ConfigError(
    `There is no ${kind} "${name}".${didYouMean(name, known)} Known: ${known.join(', ')}.`,
    {
      code: 'NAME_UNKNOWN',
      details: { kind, name, known },
    },
  );
}
