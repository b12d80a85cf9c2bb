import type { Vocabulary } from '@trinity-rft/core/internal';
import type { Tokenizer } from './types.js';

const known = new WeakMap<Tokenizer, Vocabulary>();

/**
 * Returns a view of the tokenizer's vocabulary, for comparing two tokenizers. It is the same object
 * for the same tokenizer.
 */
export function vocabularyOf(tokenizer: Tokenizer): Vocabulary {
  const vocabulary = known.get(tokenizer) ?? {
    size: tokenizer.vocabularySize,
    token: (id: number) => tokenizer.idToToken(id),
  };
  known.set(tokenizer, vocabulary);
  return vocabulary;
}
