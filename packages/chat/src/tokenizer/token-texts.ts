/** A sequence as pieces of text, one for each token: for showing tokens to people. */
import { tokenByteTable } from './token-bytes.js';
import type { Tokenizer } from './tokenizer.js';

/**
 * Concatenated, the pieces are the text of the sequence. A character whose bytes are spread over
 * several tokens stands at the last of them, the others are empty; bytes that make no character
 * become U+FFFD. Ids beyond the vocabulary are empty.
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
