/** JSON that keeps every digit of whole numbers. */

/**
 * Matches numbers without a fraction and without an exponent. `1e20` is a float in every language.
 */
const wholeNumber = /^-?\d+$/;

/**
 * The names of members that are digits of numbers, from the last to the first. Objects with the same
 * names share them, because files have millions of rows with ids.
 */
interface Names {
  readonly name: string;
  readonly before?: Names;
  /** The names that followed this one most recently. */
  next?: Names;
}

const noNames: Names = { name: '' };

/** Key of the names of an object or list. Writing, copying and comparing do not see it. */
const bigMembers = Symbol('bigMembers');

type Marked = object & { readonly [bigMembers]?: Names };

const mark = <T extends Marked>(holder: T, names: Names): T =>
  Object.defineProperty(holder, bigMembers, { value: names, configurable: true });

function markMember(holder: Marked, name: string): void {
  const before = holder[bigMembers] ?? noNames;
  if (before.next?.name !== name) before.next = { name, before };
  mark(holder, before.next);
}

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
  return JSON.parse(text, function (this: Marked, key, value: unknown, context?: Context) {
    const source = context?.source;
    if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
    if (!source || !wholeNumber.test(source)) return value;
    markMember(this, key);
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
  const sets = new Map<Names, ReadonlySet<string>>();
  const isBig = (names: Names, key: string): boolean => {
    const set = sets.get(names) ?? setOf(names);
    sets.set(names, set);
    return set.has(key);
  };
  return JSON.stringify(value, function (this: Marked, key, member: unknown) {
    const names = this[bigMembers];
    const isDigits = typeof member === 'string' && wholeNumber.test(member);
    return isDigits && names && isBig(names, key) ? rawJSON(member) : member;
  });
}

function setOf(names: Names): ReadonlySet<string> {
  const set = new Set<string>();
  for (let each = names; each.before; each = each.before) set.add(each.name);
  return set;
}

/** Returns a copy of an object or list, of whose members the same are written as numbers. */
export function withNumbersOf<T extends object>(original: Marked, copy: T): T {
  const names = original[bigMembers];
  return names ? mark(copy, names) : copy;
}
