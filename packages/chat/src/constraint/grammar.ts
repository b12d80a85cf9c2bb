/** Builds a grammar over bytes, rule by rule. */
import type { GrammarSymbol } from '@trinity-rft/core/internal';

export type Sequence = readonly GrammarSymbol[];

export interface GrammarBuilder {
  /** Adds a rule with these alternatives; returns its number, which refers to it in sequences. */
  rule(alternatives: readonly Sequence[]): number;
  /** Adds a rule that is defined later, so that it can refer to itself. */
  declare(): number;
  define(rule: number, alternatives: readonly Sequence[]): void;
  /** The rule that `make` adds, only once per key. */
  once(key: string, make: () => number): number;
  readonly rules: readonly (readonly Sequence[])[];
}

/** Rule 0, the whole text, is already declared. */
export function createGrammar(): GrammarBuilder {
  const rules: (readonly Sequence[])[] = [[]];
  const known = new Map<string, number>();
  const declare = (): number => rules.push([]) - 1;
  const define = (rule: number, alternatives: readonly Sequence[]): void =>
    void (rules[rule] = alternatives);
  return {
    rules,
    declare,
    define,
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

/** Exactly this text. */
export const literal = (text: string): Sequence =>
  Array.from(new TextEncoder().encode(text), (byte) => [byte, byte]);

/** One ASCII character from these ranges, each given as its first and last character. */
export const oneOf = (...ranges: readonly string[]): GrammarSymbol =>
  ranges.flatMap((range) => [range.charCodeAt(0), range.charCodeAt(range.length - 1)]);

/** Up to `most` times. */
export function upTo(grammar: GrammarBuilder, item: Sequence, most: number): number {
  let rest = grammar.rule([[]]);
  for (let i = 0; i < most; i++) rest = grammar.rule([[], [...item, rest]]);
  return rest;
}

/** Any number of times. */
export function repeated(grammar: GrammarBuilder, item: Sequence): number {
  const rule = grammar.declare();
  grammar.define(rule, [[], [...item, rule]]);
  return rule;
}

/**
 * Any text up to and including the first `mark`: the Knuth-Morris-Pratt automaton as rules, one per
 * number of matched bytes.
 */
export function textUpTo(grammar: GrammarBuilder, mark: string): number {
  const bytes = new TextEncoder().encode(mark);
  const rules = Array.from(bytes, () => grammar.declare());
  rules.forEach((rule, matched) => {
    /** Bytes that extend the match, or a shorter one, with the number of bytes matched then. */
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
    ]);
  });
  return rules[0]!;
}

/** How many bytes of the mark are matched after `matched` of them and then `byte`. */
function overlap(bytes: Uint8Array, matched: number, byte: number): number {
  const text = [...bytes.subarray(0, matched), byte];
  for (let length = matched; length > 0; length--) {
    if (bytes.subarray(0, length).every((value, i) => value === text[text.length - length + i]))
      return length;
  }
  return 0;
}
