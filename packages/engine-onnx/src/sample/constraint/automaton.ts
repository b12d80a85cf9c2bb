/**
 * Turns a grammar over bytes into an automaton that is built on demand. A place is a position in
 * the grammar at which the input may continue, and a state is a set of places. Equal sets are the
 * same state.
 */
import type { GrammarSymbol, TextGrammar } from '@trinity-rft/core/engine';

import { nullableRules, rulesInOrder } from './rules.js';

export interface GrammarAutomaton {
  readonly start: number;
  /** Returns the state after `byte` or a control token, or -1 if the grammar does not allow it. */
  next(state: number, byte: number): number;
  /** Returns true if the input may end in `state`. */
  accepts(state: number): boolean;
  /** Number of states so far. */
  readonly size: number;
}

/** The place at the end of the input, after the start symbol. */
const end = -1;
const dead = -1;
const unknown = -2;

/**
 * An entered rule, with the places at which the input continues after the rule. If a rule is
 * entered from several places at the same point of the input, it has a single frame.
 */
interface Frame {
  readonly returns: readonly number[];
}

/** A point inside an alternative; never the point after its last symbol. */
interface Place {
  readonly symbols: readonly GrammarSymbol[];
  readonly position: number;
  /** Number of the frame of the rule that contains this place. */
  readonly frame: number;
}

interface State {
  /** Numbers of the places whose next symbol is a byte or control token. */
  readonly places: readonly number[];
  readonly accepts: boolean;
  /**
   * Next state by byte or control token of the grammar; {@link dead} if there is none, {@link
   * unknown} if it is not computed yet.
   */
  readonly edges: Int32Array;
}

/**
 * Creates an automaton for a grammar. No rule may start with itself. The maximum number of places
 * that one byte of the input adds depends only on the grammar.
 */
export function createAutomaton({ rules }: Pick<TextGrammar, 'rules'>): GrammarAutomaton {
  return new LazyAutomaton(rules);
}

class LazyAutomaton implements GrammarAutomaton {
  readonly start: number;
  readonly #rules: TextGrammar['rules'];
  /** Number of symbols: 256 bytes, followed by control tokens up to the largest in the rules. */
  readonly #symbols: number;
  readonly #nullable: ReadonlySet<number>;
  /** Rules, sorted such that each rule comes before the rules that it can start with. */
  readonly #order: readonly number[];
  /** A unique number for each alternative. */
  readonly #alternatives: ReadonlyMap<readonly GrammarSymbol[], number>;
  readonly #frames = createTable<Frame>();
  readonly #places = createTable<Place>();
  readonly #states = createTable<State>();

  constructor(rules: TextGrammar['rules']) {
    this.#rules = rules;
    this.#symbols = symbolCount(rules);
    this.#nullable = nullableRules(rules);
    this.#order = rulesInOrder(rules, this.#nullable);
    this.#alternatives = new Map(rules.flat().map((symbols, number) => [symbols, number]));
    const whole = this.#frames.number('whole', () => ({ returns: [end] }));
    this.start = this.#stateOf([this.#placeAt(wholeText, 0, whole)]);
  }

  get size(): number {
    return this.#states.size();
  }

  next(number: number, byte: number): number {
    const state = this.#states.at(number);
    if (state.edges[byte] === unknown) state.edges[byte] = this.#follow(state, byte);
    return state.edges[byte] ?? dead;
  }

  accepts(number: number): boolean {
    return this.#states.at(number).accepts;
  }

  #follow(state: State, byte: number): number {
    const matching = state.places.filter((number) => {
      const symbol = symbolAt(this.#places.at(number));
      return typeof symbol !== 'number' && contains(symbol, byte);
    });
    return this.#stateOf(matching.flatMap((number) => this.#after(number)));
  }

  /**
   * Returns the state that consists of all places whose next symbol is a byte and that can be
   * reached from `starts` without reading a byte.
   */
  #stateOf(starts: readonly number[]): number {
    const reached = this.#reach(starts);
    const accepts = reached.delete(end);
    const places = [...reached]
      .filter((number) => typeof symbolAt(this.#places.at(number)) !== 'number')
      .toSorted((a, b) => a - b);
    if (places.length === 0 && !accepts) return dead;
    return this.#states.number(`${accepts} ${places.join(' ')}`, () => ({
      places,
      accepts,
      edges: new Int32Array(this.#symbols).fill(unknown),
    }));
  }

  /** Returns all places that can be reached from `starts` without reading a byte. */
  #reach(starts: readonly number[]): Set<number> {
    const found = new Set<number>();
    /** For each entered rule, the places at which the input continues after the rule. */
    const entered = new Map<number, Set<number>>();
    const arrive = (number: number): void => {
      if (found.has(number)) return;
      found.add(number);
      const symbol = number === end ? undefined : symbolAt(this.#places.at(number));
      if (typeof symbol !== 'number') return;
      const returns = entered.get(symbol) ?? new Set();
      entered.set(symbol, returns);
      for (const place of this.#after(number)) returns.add(place);
      if (this.#nullable.has(symbol)) this.#after(number).forEach(arrive);
    };
    starts.forEach(arrive);
    // In this order, a rule is entered after all rules that can start with it.
    for (const rule of this.#order) {
      const returns = entered.get(rule);
      if (returns) this.#enter(rule, returns).forEach(arrive);
    }
    return found;
  }

  /**
   * Enters a rule, after which the input continues at `returns`. Returns the first places of the
   * rule.
   */
  #enter(rule: number, returns: ReadonlySet<number>): readonly number[] {
    const sorted = [...returns].toSorted((a, b) => a - b);
    const frame = this.#frames.number(`${rule}:${sorted.join(' ')}`, () => ({ returns: sorted }));
    return (this.#rules[rule] ?? [])
      .filter((symbols) => symbols.length > 0)
      .map((symbols) => this.#placeAt(symbols, 0, frame));
  }

  /**
   * Returns the places at which the input continues after the symbol at a place: the next symbol of
   * the alternative, or the places after the rule.
   */
  #after(number: number): readonly number[] {
    const { symbols, position, frame } = this.#places.at(number);
    return position + 1 < symbols.length
      ? [this.#placeAt(symbols, position + 1, frame)]
      : this.#frames.at(frame).returns;
  }

  #placeAt(symbols: readonly GrammarSymbol[], position: number, frame: number): number {
    return this.#places.number(`${this.#alternatives.get(symbols)}:${position}:${frame}`, () => ({
      symbols,
      position,
      frame,
    }));
  }
}

/** The start symbol, which is rule 0. */
const wholeText: readonly GrammarSymbol[] = [0];

const symbolAt = ({ symbols, position }: Place): GrammarSymbol => symbols[position]!;

function symbolCount(rules: TextGrammar['rules']): number {
  let last = 255;
  for (const symbol of rules.flat(2))
    if (typeof symbol !== 'number') for (const value of symbol) last = Math.max(last, value);
  return last + 1;
}

function contains(ranges: readonly number[], byte: number): boolean {
  for (let i = 0; i < ranges.length; i += 2)
    if (byte >= ranges[i]! && byte <= ranges[i + 1]!) return true;
  return false;
}

interface Table<T> {
  /**
   * Returns the number of the entry with this key. Creates the entry with `make` if the key is new.
   */
  number(key: string, make: () => T): number;
  at(number: number): T;
  size(): number;
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
    size: () => rows.length,
  };
}
