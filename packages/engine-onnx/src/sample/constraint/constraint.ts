/** Restricts the next token of a response that must follow a grammar. */
import type { TextGrammar } from '@trinity-rft/core/engine';
import { packTokenBytes, type TokenBytes } from '../../model/token-bytes.js';
import { createAutomaton, type GrammarAutomaton } from './automaton.js';
import { createTokenTrie, type TokenTrie } from './token-trie.js';

/** The tokens that may follow in one state of a response. */
export interface AllowedTokens {
  /** 1 for each allowed token. [V] */
  readonly mask: Uint8Array;
  readonly count: number;
  /** True if the response is complete, so that a stop token may be sampled too. */
  readonly complete: boolean;
}

/** Tracks the state of one response that must follow a grammar. */
export interface AnswerConstraint {
  /** Returns the tokens that may come next. */
  allowed(): AllowedTokens;
  /** Returns true if the token may come next. Faster than `allowed` for few tokens. */
  allows(token: number): boolean;
  /** Returns true if the response is complete, so that a stop token may be sampled too. */
  isComplete(): boolean;
  /** Appends an allowed token, which must not be a stop token. */
  push(token: number): void;
}

/**
 * Creates constraints. Equal grammars, such as those of a group of rollouts, share an automaton.
 */
export interface ConstraintFactory {
  /** Begins a response that must follow `grammar`. */
  begin(grammar: TextGrammar): AnswerConstraint;
}

/**
 * Creates the constraints of a vocabulary, for a program that samples by itself.
 * @param tokenBytes byte string of each token id
 */
export const createConstraints = (tokenBytes: readonly Uint8Array[]): ConstraintFactory =>
  createConstraintFactory(packTokenBytes(tokenBytes), tokenBytes.length);

const rememberedGrammars = 16;
/** Maximum size in bytes of the masks that are remembered for all grammars together. */
const rememberedBytes = 64 << 20;
/**
 * Maximum number of states, of some 2.3 KB each, of all automata that further responses use. If
 * there are more, the least recently used automata are dropped.
 */
const rememberedStates = 32_768;

export function createConstraintFactory(
  tokenBytes: TokenBytes,
  vocabSize: number,
): ConstraintFactory {
  let trie: TokenTrie | undefined;
  const masks = new Map<string, AllowedTokens>();
  let created = 0;
  const machines = new Map<string, Machine>();
  /** Grammars as JSON, keyed by grammar object, which the choices of a request share. */
  const contents = new WeakMap<TextGrammar, string>();
  const dropOldest = (): void => {
    let states = machines.values().reduce((sum, { automaton }) => sum + automaton.size, 0);
    for (const [content, { automaton }] of machines) {
      if (states <= rememberedStates) return;
      machines.delete(content);
      states -= automaton.size;
    }
  };
  const machineOf = (grammar: TextGrammar): Machine => {
    const content = contents.get(grammar) ?? JSON.stringify(grammar);
    contents.set(grammar, content);
    dropOldest();
    return remembered(machines, content, rememberedGrammars, () => {
      trie ??= createTokenTrie(tokenBytes);
      const number = created++;
      const most = Math.ceil(rememberedBytes / vocabSize);
      return createMachine(grammar, trie, vocabSize, (state, make) =>
        remembered(masks, `${number} ${state}`, most, make),
      );
    });
  };
  return { begin: (grammar) => createConstraint(machineOf(grammar), tokenBytes) };
}

function createConstraint(
  { automaton, controls, allowedIn }: Machine,
  { bytes, offsets }: TokenBytes,
): AnswerConstraint {
  let state = automaton.start;
  const symbolsOf = (token: number): ArrayLike<number> => {
    const control = controls.get(token);
    return control === undefined
      ? bytes.subarray(offsets[token] ?? 0, offsets[token + 1] ?? 0)
      : [control];
  };
  const after = (symbols: ArrayLike<number>): number => {
    let next = state;
    for (let i = 0; i < symbols.length && next >= 0; i++) next = automaton.next(next, symbols[i]!);
    return next;
  };
  return {
    allowed: () => allowedIn(state),
    allows: (token) => {
      const symbols = symbolsOf(token);
      return symbols.length > 0 && after(symbols) >= 0;
    },
    isComplete: () => state < 0 || automaton.accepts(state),
    push: (token) => void (state = after(symbolsOf(token))),
  };
}

/**
 * Returns the cached value of a key, or creates it with `make`. If the cache is full (`max`
 * values), evicts the least recently used value.
 */
function remembered<K, V>(values: Map<K, V>, key: K, max: number, make: () => V): V {
  const value = values.get(key) ?? make();
  values.delete(key);
  const [oldest] = values.keys();
  if (values.size >= max && oldest !== undefined) values.delete(oldest);
  values.set(key, value);
  return value;
}

interface Machine {
  readonly automaton: GrammarAutomaton;
  /** Symbol of each control token in the automaton, keyed by token id. */
  readonly controls: ReadonlyMap<number, number>;
  readonly allowedIn: (state: number) => AllowedTokens;
}

function createMachine(
  grammar: TextGrammar,
  trie: TokenTrie,
  vocabSize: number,
  remember: (state: number, make: () => AllowedTokens) => AllowedTokens,
): Machine {
  const automaton = createAutomaton(grammar);
  const controls = new Map(grammar.controlTokenIds.map((id, i) => [id, 256 + i]));
  const nothing: AllowedTokens = { mask: new Uint8Array(vocabSize), count: 0, complete: true };
  const allowedIn = (state: number): AllowedTokens => {
    if (state < 0) return nothing;
    return remember(state, () => {
      const mask = new Uint8Array(vocabSize);
      const count = markAllowed({ automaton, controls }, state, trie, mask);
      return { mask, count, complete: automaton.accepts(state) };
    });
  };
  return { automaton, controls, allowedIn };
}

/** Walks the trie as far as the grammar allows, and marks allowed tokens. Returns their number. */
function markAllowed(
  { automaton, controls }: Omit<Machine, 'allowedIn'>,
  start: number,
  trie: TokenTrie,
  mask: Uint8Array,
): number {
  let count = 0;
  const mark = (token: number): void => {
    if (token >= mask.length) return;
    mask[token] = 1;
    count++;
  };
  for (const [token, symbol] of controls) if (automaton.next(start, symbol) >= 0) mark(token);
  const open: [node: number, state: number][] = [[0, start]];
  for (let top = open.pop(); top !== undefined; top = open.pop()) {
    const [parent, state] = top;
    for (let node = trie.child[parent]!; node !== 0; node = trie.sibling[node]!) {
      const next = automaton.next(state, trie.byte[node]!);
      if (next < 0) continue;
      for (const token of trie.tokens[node] ?? []) if (!controls.has(token)) mark(token);
      open.push([node, next]);
    }
  }
  return count;
}
