/** A grammar over bytes as a machine that is built while it is used: states are what may come next, and equal ones are one. */
import type { GrammarSymbol, TextGrammar } from '@trinity-rft/core';

export interface GrammarAutomaton {
  readonly start: number;
  /** The state after `byte`, -1 where the grammar does not allow it. */
  next(state: number, byte: number): number;
  /** Whether the text may end here. */
  accepts(state: number): boolean;
}

/** No continuation: nothing more may follow. */
const end = -1;
const dead = -1;
const unknown = -2;

/** A place inside an alternative, and where to go on after it: a stack that shares its tail with others. */
interface Place {
  readonly symbols: readonly GrammarSymbol[];
  readonly position: number;
  /** Number of a place, or {@link end}. */
  readonly after: number;
}

interface State {
  /** Places before a byte. */
  readonly places: readonly number[];
  readonly accepts: boolean;
  /** By byte: the next state, {@link dead} or {@link unknown}. */
  readonly edges: Int32Array;
}

/** Grows with the texts it has seen; rules that only lead back to themselves add nothing. */
export function createAutomaton({ rules }: Pick<TextGrammar, 'rules'>): GrammarAutomaton {
  const places: Place[] = [];
  const placeNumbers = new Map<string, number>();
  const states: State[] = [];
  const stateNumbers = new Map<string, number>();
  const alternativeNumbers = new Map(rules.flat().map((symbols, number) => [symbols, number]));

  const placeAt = (symbols: readonly GrammarSymbol[], position: number, after: number): number => {
    if (position === symbols.length) return after;
    const key = `${alternativeNumbers.get(symbols)}:${position}:${after}`;
    const known = placeNumbers.get(key);
    if (known !== undefined) return known;
    placeNumbers.set(key, places.length);
    return places.push({ symbols, position, after }) - 1;
  };

  /** Adds the places before a byte that `place` leads to without reading one. `open`: rules being entered, against cycles. */
  const expand = (place: number, found: Set<number>, open: Set<string>): void => {
    if (place === end) return void found.add(end);
    const { symbols, position, after } = places[place]!;
    const symbol = symbols[position]!;
    if (typeof symbol !== 'number') return void found.add(place);
    const rest = placeAt(symbols, position + 1, after);
    const key = `${symbol}:${rest}`;
    if (open.has(key)) return;
    open.add(key);
    for (const alternative of rules[symbol]!) expand(placeAt(alternative, 0, rest), found, open);
  };

  const stateOf = (starts: readonly number[]): number => {
    const found = new Set<number>();
    const open = new Set<string>();
    for (const place of starts) expand(place, found, open);
    if (found.size === 0) return dead;
    const sorted = [...found].toSorted((a, b) => a - b);
    const key = sorted.join(' ');
    const known = stateNumbers.get(key);
    if (known !== undefined) return known;
    stateNumbers.set(key, states.length);
    const state = { places: sorted.filter((place) => place !== end), accepts: found.has(end), edges: new Int32Array(256).fill(unknown) };
    return states.push(state) - 1;
  };

  const follow = (state: State, byte: number): number => {
    const starts = state.places.flatMap((number) => {
      const { symbols, position, after } = places[number]!;
      return contains(symbols[position] as readonly number[], byte) ? [placeAt(symbols, position + 1, after)] : [];
    });
    return stateOf(starts);
  };

  return {
    start: stateOf(rules[0]!.map((alternative) => placeAt(alternative, 0, end))),
    next: (number, byte) => {
      const state = states[number]!;
      if (state.edges[byte] === unknown) state.edges[byte] = follow(state, byte);
      return state.edges[byte]!;
    },
    accepts: (number) => states[number]!.accepts,
  };
}

function contains(ranges: readonly number[], byte: number): boolean {
  for (let i = 0; i < ranges.length; i += 2) if (byte >= ranges[i]! && byte <= ranges[i + 1]!) return true;
  return false;
}
