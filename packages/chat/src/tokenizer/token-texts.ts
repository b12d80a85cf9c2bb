/** The text of each token of a sequence, for showing tokens to people. */
import { tokenByteTable } from './token-bytes.js';
import type { Tokenizer } from './tokenizer.js';

/**
 * Concatenated, the pieces are the text of the sequence. A character whose bytes belong to several
 * tokens is in the piece of the last one; the others are empty. Invalid bytes become U+FFFD. Ids
 * beyond the vocabulary are empty.
 */
export function tokenTexts(tokenizer: Tokenizer, tokens: ArrayLike<number>): readonly string[] {
  const table = tokenByteTable(tokenizer);
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const pieces = Array.from(tokens, (token) =>
    decoder.decode(table[token] ?? new Uint8Array(0), { stream: true }),
  );
  const rest = decoder.decode();
  if (rest !== '') pieces[pieces.length - 1] += rest;
  return pieces;
}
