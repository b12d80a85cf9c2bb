/** Which tokens may come next in an answer that follows a grammar. */
import type { TextGrammar } from '@trinity-rft/core';
import type { TokenBytes } from '../../model/token-bytes.js';
import { createAutomaton, type GrammarAutomaton } from './automaton.js';
import { createTokenTrie, type TokenTrie } from './token-trie.js';

/** The tokens of one state: 1 = may be drawn. [V] */
interface AllowedTokens {
  readonly mask: Uint8Array;
  readonly count: number;
  /** Whether the answer is complete, so that a stop token may be drawn too. */
  readonly complete: boolean;
}

/** Where one answer stands. */
export interface AnswerConstraint {
  allowed(): AllowedTokens;
  /** Goes on with a token that was allowed; stop tokens change nothing. */
  push(token: number): void;
}

/** Grammars by their content: a group of runs asks for the same one again and again. */
export interface ConstraintFactory {
  begin(grammar: TextGrammar): AnswerConstraint;
}

const rememberedGrammars = 16;
const rememberedStates = 256;

export function createConstraintFactory(
  tokenBytes: TokenBytes,
  vocabSize: number,
): ConstraintFactory {
  let trie: TokenTrie | undefined;
  const machines = new Map<string, Machine>();
  /** Of grammars as they arrived: the choices of a request share theirs. */
  const arrived = new WeakMap<TextGrammar, Machine>();
  const machineOf = (grammar: TextGrammar): Machine => {
    const machine = arrived.get(grammar) ?? equalMachine(grammar);
    arrived.set(grammar, machine);
    return machine;
  };
  const equalMachine = (grammar: TextGrammar): Machine => {
    const key = JSON.stringify(grammar);
    const known = machines.get(key);
    if (known) return known;
    if (machines.size >= rememberedGrammars) machines.delete(machines.keys().next().value!);
    const machine = createMachine(grammar, (trie ??= createTokenTrie(tokenBytes)), vocabSize);
    machines.set(key, machine);
    return machine;
  };
  return {
    begin: (grammar) => {
      const { automaton, allowedIn } = machineOf(grammar);
      let state = automaton.start;
      return {
        allowed: () => allowedIn(state),
        push: (token) => {
          for (
            let i = tokenBytes.offsets[token] ?? 0;
            i < (tokenBytes.offsets[token + 1] ?? 0) && state >= 0;
            i++
          )
            state = automaton.next(state, tokenBytes.bytes[i]!);
        },
      };
    },
  };
}

interface Machine {
  readonly automaton: GrammarAutomaton;
  readonly allowedIn: (state: number) => AllowedTokens;
}

function createMachine(grammar: TextGrammar, trie: TokenTrie, vocabSize: number): Machine {
  const automaton = createAutomaton(grammar);
  const excluded = new Set(grammar.excludedTokenIds);
  const nothing: AllowedTokens = { mask: new Uint8Array(vocabSize), count: 0, complete: true };
  const remembered = new Map<number, AllowedTokens>();
  const allowedIn = (state: number): AllowedTokens => {
    if (state < 0) return nothing;
    const known = remembered.get(state);
    if (known) return known;
    if (remembered.size >= rememberedStates) remembered.delete(remembered.keys().next().value!);
    const mask = new Uint8Array(vocabSize);
    const count = markAllowed(automaton, state, trie, excluded, mask);
    const allowed = { mask, count, complete: automaton.accepts(state) };
    remembered.set(state, allowed);
    return allowed;
  };
  return { automaton, allowedIn };
}

/** Walks the tree as far as the grammar goes. Returns how many tokens it marked. */
function markAllowed(
  automaton: GrammarAutomaton,
  start: number,
  trie: TokenTrie,
  excluded: ReadonlySet<number>,
  mask: Uint8Array,
): number {
  let count = 0;
  const open: [node: number, state: number][] = [[0, start]];
  for (let top = open.pop(); top !== undefined; top = open.pop()) {
    const [parent, state] = top;
    for (let node = trie.child[parent]!; node !== 0; node = trie.sibling[node]!) {
      const next = automaton.next(state, trie.byte[node]!);
      if (next < 0) continue;
      for (const token of trie.tokens[node] ?? []) {
        if (token >= mask.length || excluded.has(token)) continue;
        mask[token] = 1;
        count++;
      }
      open.push([node, next]);
    }
  }
  return count;
}
