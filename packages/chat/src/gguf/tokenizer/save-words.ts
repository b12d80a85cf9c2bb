import { byteLevelKeys } from './save-byte-pairs.js';
import {
  addedEntries,
  noCounterpart,
  section,
  vocabularyEntries,
  type TokenizerKeys,
  type TokenizerSource,
} from './source.js';
import { listTokens, type ListedToken } from './token-list.js';

/**
 * Returns the keys of a `WordLevel` tokenizer, whose tokens are characters and chosen words.
 * llama.cpp does not support this kind, so the keys describe a byte-pair tokenizer without merges,
 * in which the words are user-defined tokens: llama.cpp finds these before it splits the text.
 * @param rows number of embedding rows
 * @throws CheckpointError for a tokenizer that does not split texts into words and characters
 */
export function wordKeys(files: TokenizerSource, rows: number): TokenizerKeys {
  const preTokenizer = section(files.tokenizer, 'pre_tokenizer');
  const pattern = section(preTokenizer, 'pattern')['Regex'];
  if (typeof pattern !== 'string' || !pattern.endsWith(String.raw`[\s\S]`))
    throw noCounterpart(
      'pre_tokenizer',
      files.tokenizer['pre_tokenizer'],
      'one that splits into words and characters, as buildCharTokenizer makes it',
    );
  const vocabulary = new Map(
    [...vocabularyEntries(files)].map(([token, id]): [number, ListedToken] => [id, listed(token)]),
  );
  const list = listTokens({ vocabulary, added: addedEntries(files), rows });
  const words = list.tokens.filter(({ kind }) => kind === 'userDefined').length;
  return {
    keys: byteLevelKeys('gpt-2', list.tokens, []),
    notes: [
      `llama.cpp has no tokenizer of characters and words (WordLevel): ${words > 1 ? `ids differ where two of ${words} words overlap, and ` : ''}a character without a token, which is the unknown token here, is left out there.`,
      ...list.notes,
    ],
  };
}

/**
 * Returns the entry for a token in the file. A one-byte character is written in the byte-level
 * alphabet; other tokens keep their text.
 */
function listed(token: string): ListedToken {
  const bytes = Buffer.from(token);
  return bytes.length === 1
    ? { text: byteSpelling(bytes[0] ?? 0), kind: 'normal' }
    : { text: token, kind: 'userDefined' };
}

/**
 * Returns the byte-level character of an ASCII byte. GPT-2 keeps visible ASCII characters, and maps
 * the other bytes to the characters from U+0100 on, in order.
 */
function byteSpelling(byte: number): string {
  if (byte > 32 && byte < 127) return String.fromCharCode(byte);
  return String.fromCharCode(0x100 + (byte <= 32 ? byte : byte - 127 + 33));
}
