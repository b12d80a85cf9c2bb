/** Tokenizer files that are written to a GGUF file, and access to their contents. */
import { refused } from '../file/failure.js';
import type { TypedValue } from '../file/typed-value.js';
import { isObject, type JsonObject } from '../../json/object.js';

/** Contents of the tokenizer files of a model folder, as `readTokenizerFiles` returns them. */
export interface TokenizerSource {
  /** Content of `tokenizer.json`. */
  readonly tokenizer: JsonObject;
  /** Content of `tokenizer_config.json`. */
  readonly tokenizerConfig: JsonObject;
  /** Content of `generation_config.json`. */
  readonly generationConfig?: JsonObject;
  /**
   * Content of `chat_template.jinja`, which takes precedence over `chat_template` in
   * `tokenizer_config.json`.
   */
  readonly chatTemplate?: string;
}

/** Keys that describe a tokenizer in a GGUF file, with notes for the user. */
export interface TokenizerKeys {
  readonly keys: readonly (readonly [string, TypedValue])[];
  readonly notes: readonly string[];
}

/** An entry of `added_tokens` in tokenizer.json. */
export interface AddedEntry {
  readonly id: number;
  readonly content: string;
  readonly special: boolean;
  /**
   * True if spaces beside the token belong to it (`lstrip`, `rstrip`), or if it is only found as a
   * separate word (`single_word`).
   */
  readonly hasRules: boolean;
}

export const section = (from: unknown, key: string): JsonObject => {
  const found = isObject(from) ? from[key] : undefined;
  return isObject(found) ? found : {};
};

/** Returns the token of a byte in vocabularies that spell unknown characters by bytes. */
export const byteTokenOf = (byte: number): string =>
  `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;

export function addedEntries({ tokenizer }: TokenizerSource): readonly AddedEntry[] {
  const list = Array.isArray(tokenizer['added_tokens']) ? tokenizer['added_tokens'] : [];
  return list.filter(isObject).map((entry) => ({
    id: Number(entry['id']),
    content: String(entry['content']),
    special: entry['special'] === true,
    hasRules: ['lstrip', 'rstrip', 'single_word'].some((rule) => entry[rule] === true),
  }));
}

/** Returns the ids of the tokens in the model's `vocab`, keyed by token. */
export function vocabularyEntries({ tokenizer }: TokenizerSource): ReadonlyMap<string, number> {
  const vocabulary = section(tokenizer['model'], 'vocab');
  return new Map(Object.entries(vocabulary).map(([token, id]) => [token, Number(id)]));
}

/**
 * Returns the text of a special token, which the files store as a string or as an object with
 * `content`.
 */
export function tokenText(value: unknown): string | undefined {
  const content = isObject(value) ? value['content'] : value;
  return typeof content === 'string' ? content : undefined;
}

/** Creates the error for a part of tokenizer.json that llama.cpp does not support. */
export const noCounterpart = (key: string, value: unknown, expected: string) =>
  refused({
    file: 'tokenizer.json',
    key,
    value,
    expected,
    fix: 'llama.cpp would split texts in another way: use the Hugging Face folder of this model.',
  });
