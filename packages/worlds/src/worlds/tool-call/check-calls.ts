/** Checks tool calls by the rules of BFCL's checker for Python. */
import { isDeepStrictEqual } from 'node:util';

export interface Call {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** A function as BFCL describes it. */
export interface BfclFunction {
  readonly name: string;
  readonly description: string;
  readonly parameters: {
    readonly type?: string;
    readonly properties: Readonly<Record<string, Parameter>>;
    readonly required: readonly string[];
  };
}
interface Parameter {
  readonly type: string;
  readonly items?: { readonly type: string };
}

/**
 * One expected call: the function name, with the accepted values of each argument. The value `''`
 * means that the argument may be omitted.
 */
export type Answer = Readonly<Record<string, Possible>>;
type Possible = Readonly<Record<string, readonly unknown[]>>;

/** Returns true if the calls are exactly those expected, in any order. */
export function areRightCalls(
  functions: readonly BfclFunction[],
  calls: readonly Call[],
  answers: readonly Answer[],
): boolean {
  if (calls.length !== answers.length) return false;
  const left = [...calls];
  return answers.every((answer) => {
    const [name = '', possible = {}] = Object.entries(answer)[0] ?? [];
    const described = functions.find((each) => each.name === name);
    const found = left.findIndex(
      (call) => described !== undefined && isRightCall(described, call, possible),
    );
    if (found >= 0) left.splice(found, 1);
    return found >= 0;
  });
}

function isRightCall(described: BfclFunction, call: Call, possible: Possible): boolean {
  const { properties, required } = described.parameters;
  const given = call.arguments;
  if (call.name !== described.name || required.some((name) => !Object.hasOwn(given, name)))
    return false;
  const isComplete = Object.entries(possible).every(
    ([name, values]) => Object.hasOwn(given, name) || values.includes(''),
  );
  return (
    isComplete &&
    Object.entries(given).every(([name, value]) => {
      const [parameter, values] = [ownValue(properties, name), ownValue(possible, name)];
      return (
        parameter !== undefined && values !== undefined && isRightValue(parameter, value, values)
      );
    })
  );
}

const ownValue = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;

function isRightValue(parameter: Parameter, value: unknown, possible: readonly unknown[]): boolean {
  const expected = kinds[parameter.type] ?? 'string';
  const inner = expected === 'list' ? kinds[parameter.items?.type ?? ''] : undefined;
  if (!hasType(value, possible, expected, inner)) return false;
  const named = possible.find((each) => each !== '');
  const isVariable = named !== undefined && !isOf(named, expected);
  if (isVariable || !isOf(value, expected))
    return possible.some((each) => isDeepStrictEqual(each, unsigned(value)));
  if (expected === 'dict') return possible.some((each) => isRightDict(value, each));
  if (expected === 'list')
    return possible.some((each) =>
      inner === 'dict' ? isRightDictList(value, each) : isSameList(value, each),
    );
  return possible.some((each) => isDeepStrictEqual(standard(each), standard(value)));
}

type Kind = 'string' | 'integer' | 'float' | 'boolean' | 'list' | 'dict';

const kinds: Readonly<Record<string, Kind>> = {
  string: 'string',
  integer: 'integer',
  float: 'float',
  boolean: 'boolean',
  array: 'list',
  tuple: 'list',
  dict: 'dict',
  any: 'string',
};

function kindOf(value: unknown): Kind | undefined {
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'float';
  if (typeof value === 'object') return value === null ? undefined : 'dict';
  return typeof value === 'string' || typeof value === 'boolean'
    ? (typeof value as Kind)
    : undefined;
}

/** Returns true if a value has the type. Integers also count as floats. */
const isOf = (value: unknown, kind: Kind): boolean =>
  kindOf(value) === kind || (kind === 'float' && kindOf(value) === 'integer');

/**
 * Returns true if a value has the declared type, or the type of the first expected value. The two
 * types differ if the expected value is the name of a variable.
 */
function hasType(
  value: unknown,
  possible: readonly unknown[],
  expected: Kind,
  inner?: Kind,
): boolean {
  if (isOf(value, expected)) {
    if (inner === undefined) return true;
    const items = value as readonly unknown[];
    return possible.some(
      (each) => !Array.isArray(each) || items.every((item) => hasType(item, each, inner)),
    );
  }
  const named = possible.find((each) => each !== '');
  return named !== undefined && kindOf(named) === kindOf(value);
}

/**
 * Normalizes a string: drops spaces and light punctuation, converts to lower case, and replaces
 * single by double quotes.
 */
const standard = (value: unknown): unknown =>
  typeof value === 'string'
    ? value
        .replace(/[ ,./\-_*^]/g, '')
        .toLowerCase()
        .replaceAll("'", '"')
    : unsigned(value);

/** Converts -0 to 0. */
const unsigned = (value: unknown): unknown => (value === 0 ? 0 : value);

const isSameList = (value: unknown, possible: unknown): boolean =>
  isDeepStrictEqual(listOf(value).map(standard), listOf(possible).map(standard));

const isRightDictList = (value: unknown, possible: unknown): boolean =>
  listOf(value).length === listOf(possible).length &&
  listOf(value).every((each, index) => isRightDict(each, listOf(possible)[index]));

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/**
 * Returns true if the value of each key is one of the accepted values. Keys whose accepted values
 * include `''` may be missing.
 */
function isRightDict(value: unknown, possible: unknown): boolean {
  if (kindOf(value) !== 'dict' || kindOf(possible) !== 'dict') return false;
  const [given, wanted] = [value as Readonly<Record<string, unknown>>, possible as Possible];
  const isComplete = Object.entries(wanted).every(
    ([key, values]) => Object.hasOwn(given, key) || values.includes(''),
  );
  return (
    isComplete &&
    Object.entries(given).every(([key, each]) =>
      (ownValue(wanted, key) ?? []).some((one) => isDeepStrictEqual(standard(one), standard(each))),
    )
  );
}
