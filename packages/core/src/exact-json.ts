/** JSON that keeps every digit of whole numbers. */

/**
 * Matches numbers without a fraction and without an exponent. `1e20` is a float in every language.
 */
const wholeNumber = /^-?\d+$/;

/** Names of the members of an object or list that are digits of numbers. */
const bigMembers = new WeakMap<object, Set<string>>();

/** A function of Node that TypeScript does not declare. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (source: string) => object };

/**
 * Parses like `JSON.parse`, but passes whole numbers outside of +-(2^53 - 1) to `big`, because
 * rounding could make two ids equal.
 * @param big converts the digits of such a number. @default returns the digits as text, as the
 * readers of Parquet and SQL do; {@link stringifyExactly} writes them as numbers again
 */
export function parseJsonExactly(
  text: string,
  big: (digits: string) => unknown = (digits) => digits,
): unknown {
  // Parsing with a reviver takes several times as long.
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, function (this: object, key, value: unknown, context?: Context) {
    const source = context?.source;
    if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
    if (!source || !wholeNumber.test(source)) return value;
    const members = bigMembers.get(this) ?? new Set();
    bigMembers.set(this, members.add(key));
    return big(source);
  });
}

interface Context {
  readonly source?: string;
}

/**
 * Writes like `JSON.stringify`, but writes the digits that {@link parseJsonExactly} returned as the
 * numbers that they were. Copies of the parsed objects and lists have texts, see `withNumbersOf`.
 */
export function stringifyExactly(value: unknown): string {
  const text = JSON.stringify(value);
  // Writing with a replacer takes several times as long.
  if (!/"-?\d{16,}"/.test(text)) return text;
  return JSON.stringify(value, function (this: object, key, member: unknown) {
    const isBig = typeof member === 'string' && bigMembers.get(this)?.has(key);
    return isBig && wholeNumber.test(member) ? rawJSON(member) : member;
  });
}

/** Returns a copy of an object or list, of whose members the same are written as numbers. */
export function withNumbersOf<T extends object>(original: object, copy: T): T {
  const members = bigMembers.get(original);
  if (members) bigMembers.set(copy, members);
  return copy;
}
