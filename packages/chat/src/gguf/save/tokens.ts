import { refused } from '../file/failure.js';
import { addedEntries, vocabularyEntries, type TokenizerSource } from '../tokenizer/source.js';
import type { SavedConfig } from './config.js';

const phi3Tokens = ['</s>', '<unk>', '<s>', '<|endoftext|>'] as const;

/**
 * Checks that the tokenizer has the tokens that llama.cpp looks up when it loads a Phi-3 model.
 * llama.cpp treats a model as Phi-3 if its architecture or its name says so.
 */
export function assertTokens(
  { family }: SavedConfig,
  { tokenizer, name = '' }: { readonly tokenizer: TokenizerSource; readonly name?: string },
): void {
  const byName = /phi-?3/i.test(name);
  if (family.architecture !== 'phi3' && !byName) return;
  const known = new Set([
    ...vocabularyEntries(tokenizer).keys(),
    ...addedEntries(tokenizer).map(({ content }) => content),
  ]);
  const missing = phi3Tokens.find((token) => !known.has(token));
  if (missing === undefined) return;
  throw refused({
    file: 'tokenizer.json',
    key: 'added_tokens',
    value: `without ${missing}`,
    expected: `${phi3Tokens.join(', ')}, without which llama.cpp cannot open a Phi-3 model`,
    fix: byName ? 'Give the model another name.' : "Use the tokenizer of the family's models.",
  });
}
