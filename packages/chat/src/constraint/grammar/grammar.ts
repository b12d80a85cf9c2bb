/** Builds a grammar over bytes, rule by rule. */
import type { GrammarSymbol } from '@trinity-rft/core/engine';

export type Sequence = readonly GrammarSymbol[];

export interface GrammarBuilder {
  /**
   * Adds a rule with these alternatives. Returns the number that sequences use to refer to the
   * rule.
   */
  rule(alternatives: readonly Sequence[]): number;
  /** Adds a rule that is defined later. Its definition can then refer to the rule itself. */
  declare(): number;
  define(rule: number, alternatives: readonly Sequence[]): void;
  /**
   * Returns the rule that `make` added for `key`. Calls `make` only at the first call with this
   * key.
   */
  once(key: unknown, make: () => number): number;
  /**
   * Returns the sequence for a string. Each control token in the string becomes one symbol, which
   * no other token can produce.
   */
  marked(text: string): Sequence;
  readonly rules: readonly (readonly Sequence[])[];
}

/**
 * Creates a builder in which rule 0, the start symbol, is already declared.
 * @param spend called for each rule; throws when there are too many rules
 * @param controlTokens texts of the tokens that {@link GrammarBuilder.marked} recognises
 */
export function createGrammar(
  spend: () => void,
  controlTokens: readonly string[] = [],
): GrammarBuilder {
  const rules: (readonly Sequence[])[] = [[]];
  const known = new Map<unknown, number>();
  const declare = (): number => {
    spend();
    return rules.push([]) - 1;
  };
  const define = (rule: number, alternatives: readonly Sequence[]): void =>
    void (rules[rule] = alternatives);
  const longestFirst = controlTokens
    .map((token, i) => ({ token, symbol: [256 + i, 256 + i] }))
    .toSorted((a, b) => b.token.length - a.token.length);
  const marked = (text: string): Sequence => {
    const found = longestFirst.find(({ token }) => text.includes(token));
    if (!found) return literal(text);
    const [before = '', ...others] = text.split(found.token);
    return [...marked(before), ...others.flatMap((part) => [found.symbol, ...marked(part)])];
  };
  return {
    rules,
    declare,
    define,
    marked,
    rule: (alternatives) => {
      const number = declare();
      define(number, alternatives);
      return number;
    },
    once: (key, make) => {
      const rule = known.get(key) ?? make();
      known.set(key, rule);
      return rule;
    },
  };
}

/** Sequence that matches exactly `text`. */
export const literal = (text: string): Sequence =>
  Array.from(new TextEncoder().encode(text), (byte) => [byte, byte]);

/** Symbol for one ASCII character. Each range is a string of its first and last character. */
export const oneOf = (...ranges: readonly string[]): GrammarSymbol =>
  ranges.flatMap((range) => [range.charCodeAt(0), range.charCodeAt(range.length - 1)]);

/**
 * Maximum number of repetitions that are compiled to one rule each, because such rules parse
 * faster.
 */
const maxChain = 40;

/**
 * Returns a rule that matches `item` from `min` to `max` times; `max` may be infinite. The number
 * of rules grows logarithmically with the counts.
 */
export function counted(grammar: GrammarBuilder, item: Sequence, min: number, max: number): number {
  const exactRules = new Map<number, number>();
  const upToRules = new Map<number, number>();
  const once = (known: Map<number, number>, count: number, make: () => readonly Sequence[]) => {
    const rule = known.get(count) ?? grammar.rule(make());
    known.set(count, rule);
    return rule;
  };
  const exactly = (count: number): number =>
    once(exactRules, count, () => {
      if (count === 0) return [[]];
      if (count % 2 === 1) return [[...item, exactly(count - 1)]];
      return [[exactly(count / 2), exactly(count / 2)]];
    });
  /**
   * Rule for up to `count` items. A large `count` has two cases, which do not overlap: fewer than
   * `count / 2` items, or `count / 2` items followed by up to `count / 2` more.
   */
  const upTo = (count: number): number =>
    once(upToRules, count, () => {
      if (count === 0) return [[]];
      if (count <= maxChain) return [[], [...item, upTo(count - 1)]];
      const half = Math.ceil(count / 2);
      return [[upTo(half - 1)], [exactly(half), upTo(count - half)]];
    });
  const rest = max === Infinity ? repeated(grammar, item) : upTo(max - min);
  return min === 0 ? rest : grammar.rule([[exactly(min), rest]]);
}

/** Rule for `item`, repeated any number of times. */
export function repeated(grammar: GrammarBuilder, item: Sequence): number {
  const rule = grammar.declare();
  grammar.define(rule, [[], [...item, rule]]);
  return rule;
}

/**
 * Rule for any text that ends with the first `mark`, which may be a control token or spelled out in
 * bytes. The rules are the states of the Knuth-Morris-Pratt automaton: one per number of matched
 * bytes.
 */
export function textUpTo(grammar: GrammarBuilder, mark: string): number {
  const bytes = new TextEncoder().encode(mark);
  const token = grammar.marked(mark);
  const rules = Array.from(bytes, () => grammar.declare());
  rules.forEach((rule, matched) => {
    /**
     * Number of matched bytes after the next byte, for each byte that occurs in the mark. After any
     * other byte, the number is 0.
     */
    const forward = new Map<number, number>([[bytes[matched]!, matched + 1]]);
    for (const byte of new Set(bytes))
      if (!forward.has(byte)) forward.set(byte, overlap(bytes, matched, byte));
    const others = [...forward.keys()].toSorted((a, b) => a - b);
    const gaps = others
      .flatMap((byte, i) => [(others[i - 1] ?? -1) + 1, byte - 1])
      .concat((others.at(-1) ?? -1) + 1, 255);
    const ranges = gaps.flatMap((from, i) =>
      i % 2 === 0 && from <= gaps[i + 1]! ? [from, gaps[i + 1]!] : [],
    );
    grammar.define(rule, [
      ...[...forward].map(([byte, next]): Sequence =>
        next === bytes.length ? [[byte, byte]] : [[byte, byte], rules[next]!],
      ),
      [ranges, rules[0]!],
      ...(token.length < bytes.length ? [token] : []),
    ]);
  });
  return rules[0]!;
}

/**
 * Returns the number of matched bytes when `byte` follows the first `matched` bytes of the mark.
 */
function overlap(bytes: Uint8Array, matched: number, byte: number): number {
  const text = [...bytes.subarray(0, matched), byte];
  for (let length = matched; length > 0; length--) {
    if (bytes.subarray(0, length).every((value, i) => value === text[text.length - length + i]))
      return length;
  }
  return 0;
}

/** Removes alternatives that no string can complete, because a model would get stuck in them. */
export function productive(
  rules: readonly (readonly Sequence[])[],
): readonly (readonly Sequence[])[] {
  const done = new Uint8Array(rules.length);
  /** For each rule, the rules that use it in an alternative. */
  const users = rules.map((): number[] => []);
  rules.forEach((alternatives, rule) => {
    for (const symbol of alternatives.flat())
      if (typeof symbol === 'number') users[symbol]!.push(rule);
  });
  const isDone = (sequence: Sequence): boolean =>
    sequence.every((symbol) =>
      typeof symbol === 'number' ? done[symbol] === 1 : symbol.length > 0,
    );
  const open = [...rules.keys()];
  for (let rule = open.pop(); rule !== undefined; rule = open.pop()) {
    if (done[rule] === 1 || !rules[rule]!.some(isDone)) continue;
    done[rule] = 1;
    for (const user of users[rule]!) open.push(user);
  }
  return rules.map((alternatives) => alternatives.filter(isDone));
}
