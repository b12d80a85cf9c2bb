/**
 * Stores the vocabulary as a trie of bytes, so that tokens with a common prefix are checked
 * together.
 */
import type { TokenBytes } from '../../model/token-bytes.js';

/** A trie whose nodes are numbers; 0 is the root. */
export interface TokenTrie {
  /** First child of each node; 0 if there is none. */
  readonly child: Int32Array;
  /** Next sibling of each node; 0 if there is none. */
  readonly sibling: Int32Array;
  /** The byte that leads to each node. */
  readonly byte: Uint8Array;
  /** Tokens that end at each node. */
  readonly tokens: readonly (readonly number[] | undefined)[];
}

/** Creates the trie. Tokens without bytes are left out, because no text contains them. */
export function createTokenTrie({ bytes, offsets }: TokenBytes): TokenTrie {
  const size = bytes.length + 1;
  const [child, sibling, byte] = [new Int32Array(size), new Int32Array(size), new Uint8Array(size)];
  const tokens: (number[] | undefined)[] = [undefined];
  const childOf = (node: number, value: number): number => {
    for (let at = child[node]!; at !== 0; at = sibling[at]!) if (byte[at] === value) return at;
    const made = tokens.push(undefined) - 1;
    byte[made] = value;
    sibling[made] = child[node]!;
    return (child[node] = made);
  };
  for (let token = 0; token + 1 < offsets.length; token++) {
    let node = 0;
    for (let i = offsets[token]!; i < offsets[token + 1]!; i++) node = childOf(node, bytes[i]!);
    if (node !== 0) (tokens[node] ??= []).push(token);
  }
  return { child, sibling, byte, tokens };
}
