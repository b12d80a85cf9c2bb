/** Builds a grammar over bytes, rule by rule. */
import type { GrammarSymbol } from '@trinity-rft/core/engine';

export type Sequence = readonly GrammarSymbol[];

export interface GrammarBuilder {
  /**
   * Adds a rule that matches any of the alternatives. Returns the number of the rule, by which
   * sequences refer to it.
   */
  rule(alternatives: readonly Sequence[]): number;
  /**
   * Reserves the number of a rule whose alternatives are set later with `define`, for example
   * because they refer to the rule itself.
   */
  declare(): number;
  define(rule: number, alternatives: readonly Sequence[]): void;
  /**
   * Returns the rule that is cached under `key`. If there is none, calls `make`, which adds the
   * rule.
   */
  once(key: unknown, make: () => number): number;
  /**
   * Returns a sequence that matches a string. Each control token in the string becomes one symbol
   * that matches only this token.
   */
  marked(text: string): Sequence;
  readonly rules: readonly (readonly Sequence[])[];
}

/**
 * Creates a builder in which rule 0, the start symbol, is already declared.
 * @param spend called for each added rule; throws when there are too many rules
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

/** Returns a sequence that matches exactly `text`. */
export const literal = (text: string): Sequence =>
  Array.from(new TextEncoder().encode(text), (byte) => [byte, byte]);

/**
 * Returns a symbol that matches one ASCII character in any of the ranges. A range such as `az` is a
 * string of its first and last character, or one character.
 */
export const oneOf = (...ranges: readonly string[]): GrammarSymbol =>
  ranges.flatMap((range) => [range.charCodeAt(0), range.charCodeAt(range.length - 1)]);

/**
 * Largest count for which a repetition is compiled to a chain with one rule per item, because
 * chains parse faster. Larger counts are halved.
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
   * Returns a rule that matches at most `count` items. If `count` is large, the rule has two
   * alternatives, which never match the same number of items: fewer than `count / 2` items, or
   * `count / 2` items followed by up to `count / 2` more.
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

/** Returns a rule that matches zero or more repetitions of `item`. */
export function repeated(grammar: GrammarBuilder, item: Sequence): number {
  const rule = grammar.declare();
  grammar.define(rule, [[], [...item, rule]]);
  return rule;
}

/**
 * Returns a rule that matches any text up to and including the first `mark`. The mark may be
 * written as a control token or as bytes. The rules are the states of the Knuth-Morris-Pratt
 * automaton: one per number of bytes of the mark that are matched so far.
 */
export function textUpTo(grammar: GrammarBuilder, mark: string): number {
  const bytes = new TextEncoder().encode(mark);
  const token = grammar.marked(mark);
  const rules = Array.from(bytes, () => grammar.declare());
  rules.forEach((rule, matched) => {
    /**
     * Next state (number of matched bytes of the mark) after each byte that occurs in the mark.
     * After any other byte, the next state is 0.
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
 * Returns how many bytes of the mark are matched by a text that ends with the first `matched` bytes
 * of the mark, followed by `byte`.
 */
function overlap(bytes: Uint8Array, matched: number, byte: number): number {
  const text = [...bytes.subarray(0, matched), byte];
  for (let length = matched; length > 0; length--) {
    if (bytes.subarray(0, length).every((value, i) => value === text[text.length - length + i]))
      return length;
  }
  return 0;
}

/**
 * Removes alternatives that match no finite string, because a model that begins one could never end
 * its response.
 */
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
