import { literal, type GrammarBuilder, type Sequence } from '../grammar/grammar.js';
import { character, string } from '../grammar/json-value.js';
import { charSet, complement, intersect, rangesOf, type CharSet, type Range } from './char-set.js';
import type { Language, Languages } from './language.js';

/**
 * Returns the rule for a JSON string literal whose value is in the language. Each character may be
 * written as UTF-8 or as an escape.
 */
export function textRule(
  grammar: GrammarBuilder,
  languages: Languages,
  language: Language,
): number {
  if (language === languages.all) return string(grammar);
  const ruleOf = (state: Language): number => {
    return grammar.once(state, () => {
      const rule = grammar.declare();
      open.push([rule, state]);
      return rule;
    });
  };
  const open: [rule: number, state: Language][] = [];
  const start = grammar.rule([[...literal('"'), ruleOf(language)]]);
  for (let top = open.pop(); top; top = open.pop()) {
    const [rule, state] = top;
    const steps: readonly Sequence[] =
      state === languages.all
        ? [[character(grammar), rule]]
        : languages
            .transitions(state)
            .map(({ set, next }) => [charRule(grammar, set), ruleOf(next)]);
    grammar.define(rule, state.isNullable ? [literal('"'), ...steps] : steps);
  }
  return start;
}

const escaped: Readonly<Record<string, number>> = {
  '"': 0x22,
  '\\': 0x5c,
  '/': 0x2f,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
};

/** Characters that a JSON string contains without an escape. */
const plain = complement([0, 0x1f, 0x22, 0x22, 0x5c, 0x5c]);

function charRule(grammar: GrammarBuilder, set: CharSet): number {
  return grammar.once(`char ${set.join(' ')}`, () => {
    const raw = intersect(set, plain);
    const short = Object.keys(escaped).filter((name) => within(set, escaped[name]!));
    const long = digitRules(grammar, intersect(set, [0, 0xffff]), hexDigits);
    return grammar.rule([
      ...utf8.flatMap(({ range, ...digits }) => digitRules(grammar, intersect(raw, range), digits)),
      ...short.map((name) => literal(`\\${name}`)),
      ...long.map((digits) => [...literal('\\u'), ...digits]),
    ]);
  });
}

const within = (set: CharSet, char: number): boolean => intersect(set, [char, char]).length > 0;

/**
 * Encoding of a character's code point as a number of digits, such as the bytes of UTF-8 or
 * hexadecimal digits.
 */
interface Digits {
  readonly bits: number;
  readonly count: number;
  /** Returns the bytes by which a digit may be written. */
  readonly bytes: (digit: number, isFirst: boolean) => readonly number[];
}

const utf8: readonly (Digits & { readonly range: Range })[] = (
  [
    [0, 0x7f, 0],
    [0x80, 0x7ff, 0xc0],
    [0x800, 0xffff, 0xe0],
    [0x10000, 0x10ffff, 0xf0],
  ] as const
).map(([from, to, lead], i) => ({
  range: [from, to],
  bits: i === 0 ? 7 : 6,
  count: i + 1,
  bytes: (digit, isFirst) => [(isFirst ? lead : 0x80) + digit],
}));

const hexDigits: Digits = {
  bits: 4,
  count: 4,
  bytes: (digit) =>
    [digit.toString(16), digit.toString(16).toUpperCase()].map((char) => char.charCodeAt(0)),
};

/**
 * Returns alternatives that match the encodings of all code points in the ranges. Encodings that
 * end alike share the rule for their ends.
 */
function digitRules(
  grammar: GrammarBuilder,
  ranges: readonly number[],
  digits: Digits,
  place = digits.count,
): readonly Sequence[] {
  const unit = 2 ** (digits.bits * (place - 1));
  /** First bytes, grouped by the ranges that the digits after the first one may encode. */
  const byRest = new Map<string, { readonly rest: readonly number[]; bytes: number[] }>();
  for (const [digit, rest] of split(ranges, unit)) {
    const key = rest.join(' ');
    const group = byRest.get(key) ?? { rest, bytes: [] };
    byRest.set(key, group);
    group.bytes.push(...digits.bytes(digit, place === digits.count));
  }
  return [...byRest].map(([key, { rest, bytes }]): Sequence => {
    const symbol = charSet(bytes.map((byte): Range => [byte, byte]));
    if (place === 1) return [symbol];
    const name = `digits ${digits.bits} ${place - 1} ${key}`;
    const make = (): number => grammar.rule(digitRules(grammar, rest, digits, place - 1));
    return [symbol, grammar.once(name, make)];
  });
}

/** Returns, for each first digit, the ranges of the numbers that the remaining digits encode. */
function split(ranges: readonly number[], unit: number): ReadonlyMap<number, number[]> {
  const parts = new Map<number, number[]>();
  for (const [from, to] of rangesOf(ranges)) {
    for (let digit = Math.floor(from / unit); digit * unit <= to; digit++) {
      const base = digit * unit;
      const part = parts.get(digit) ?? [];
      parts.set(digit, part);
      part.push(Math.max(from, base) - base, Math.min(to, base + unit - 1) - base);
    }
  }
  return parts;
}
