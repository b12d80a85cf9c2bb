/**
 * A grammar over bytes as a machine that is built while it is used: states are what may come next,
 * and equal ones are one.
 */
import type { GrammarSymbol, TextGrammar } from '@trinity-rft/core';

import { nullableRules, rulesInOrder } from './rules.js';

export interface GrammarAutomaton {
  readonly start: number;
  /** The state after `byte`, -1 where the grammar does not allow it. */
  next(state: number, byte: number): number;
  /** Whether the text may end here. */
  accepts(state: number): boolean;
}

/** The place after everything. */
const end = -1;
const dead = -1;
const unknown = -2;

/**
 * A rule that has been entered, and the places where the text goes on after it: all that entered it
 * at one point share it.
 */
interface Frame {
  readonly returns: readonly number[];
}

/** A point inside an alternative, never after its last symbol. */
interface Place {
  readonly symbols: readonly GrammarSymbol[];
  readonly position: number;
  /** Number of the frame of its rule. */
  readonly frame: number;
}

interface State {
  /** Numbers of the places before a byte. */
  readonly places: readonly number[];
  readonly accepts: boolean;
  /** By byte: the next state, {@link dead} or {@link unknown}. */
  readonly edges: Int32Array;
}

/**
 * Grows with the texts it has seen, by a number of places per byte that depends on the grammar
 * alone. A rule may not begin with itself.
 */
export function createAutomaton({ rules }: Pick<TextGrammar, 'rules'>): GrammarAutomaton {
  const nullable = nullableRules(rules);
  const order = rulesInOrder(rules, nullable);
  const alternatives = new Map(rules.flat().map((symbols, number) => [symbols, number]));
  const frames = createTable<Frame>();
  const places = createTable<Place>();
  const states = createTable<State>();

  const placeAt = (symbols: readonly GrammarSymbol[], position: number, frame: number): number =>
    places.number(`${alternatives.get(symbols)}:${position}:${frame}`, () => ({
      symbols,
      position,
      frame,
    }));

  /**
   * Where the text goes on after the symbol at a place: inside its alternative, or where its rule
   * was entered from.
   */
  const after = (number: number): readonly number[] => {
    const { symbols, position, frame } = places.at(number);
    return position + 1 < symbols.length
      ? [placeAt(symbols, position + 1, frame)]
      : frames.at(frame).returns;
  };

  /**
   * All that is reached from `starts` without a byte. Rules are entered after all others that enter
   * them.
   */
  const stateOf = (starts: readonly number[]): number => {
    const found = new Set<number>();
    const entered = new Map<number, Set<number>>();
    const arrive = (number: number): void => {
      if (found.has(number)) return;
      found.add(number);
      const symbol = number === end ? undefined : symbolAt(places.at(number));
      if (typeof symbol !== 'number') return;
      const returns = entered.get(symbol) ?? new Set();
      entered.set(symbol, returns);
      for (const place of after(number)) returns.add(place);
      if (nullable.has(symbol)) after(number).forEach(arrive);
    };
    starts.forEach(arrive);
    for (const rule of order) {
      const returns = entered.get(rule);
      if (!returns) continue;
      const sorted = [...returns].toSorted((a, b) => a - b);
      const frame = frames.number(`${rule}:${sorted.join(' ')}`, () => ({ returns: sorted }));
      for (const symbols of rules[rule]!)
        if (symbols.length > 0) arrive(placeAt(symbols, 0, frame));
    }
    const accepts = found.delete(end);
    const before = [...found]
      .filter((number) => typeof symbolAt(places.at(number)) !== 'number')
      .toSorted((a, b) => a - b);
    if (before.length === 0 && !accepts) return dead;
    const edges = (): Int32Array => new Int32Array(256).fill(unknown);
    return states.number(`${accepts} ${before.join(' ')}`, () => ({
      places: before,
      accepts,
      edges: edges(),
    }));
  };

  const follow = (state: State, byte: number): number =>
    stateOf(
      state.places
        .filter((number) => contains(symbolAt(places.at(number)) as readonly number[], byte))
        .flatMap(after),
    );

  const whole = frames.number('whole', () => ({ returns: [end] }));
  return {
    start: stateOf([placeAt(wholeText, 0, whole)]),
    next: (number, byte) => {
      const state = states.at(number);
      if (state.edges[byte] === unknown) state.edges[byte] = follow(state, byte);
      return state.edges[byte]!;
    },
    accepts: (number) => states.at(number).accepts,
  };
}

/** Rule 0, then nothing. */
const wholeText: readonly GrammarSymbol[] = [0];

const symbolAt = ({ symbols, position }: Place): GrammarSymbol => symbols[position]!;

function contains(ranges: readonly number[], byte: number): boolean {
  for (let i = 0; i < ranges.length; i += 2)
    if (byte >= ranges[i]! && byte <= ranges[i + 1]!) return true;
  return false;
}

interface Table<T> {
  /** Of what has this key; made when it is new. */
  number(key: string, make: () => T): number;
  at(number: number): T;
}

function createTable<T>(): Table<T> {
  const numbers = new Map<string, number>();
  const rows: T[] = [];
  return {
    number: (key, make) => {
      const known = numbers.get(key);
      if (known !== undefined) return known;
      numbers.set(key, rows.length);
      return rows.push(make()) - 1;
    },
    at: (number) => rows[number]!,
  };
}
