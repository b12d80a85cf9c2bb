/** Tokenizer files that are written into a GGUF file, and access to them. */
import { refused } from '../file/failure.js';
import type { TypedValue } from '../file/typed-value.js';

type Json = Readonly<Record<string, unknown>>;

/** Contents of the tokenizer files of a model folder, as `readTokenizerFiles` gives them. */
export interface TokenizerSource {
  /** `tokenizer.json` */
  readonly tokenizer: Json;
  /** `tokenizer_config.json` */
  readonly tokenizerConfig: Json;
  /** `generation_config.json` */
  readonly generationConfig?: Json;
  /** `chat_template.jinja`; has priority over `chat_template` in `tokenizer_config.json`. */
  readonly chatTemplate?: string;
}

/** Keys of a tokenizer, and what a user should know about them. */
export interface TokenizerKeys {
  readonly keys: readonly (readonly [string, TypedValue])[];
  readonly notes: readonly string[];
}

/** An entry of `added_tokens`. */
export interface AddedEntry {
  readonly id: number;
  readonly content: string;
  readonly special: boolean;
  /** Takes spaces around it, or is found only between words. */
  readonly hasRules: boolean;
}

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const section = (from: unknown, key: string): Json => {
  const found = isObject(from) ? from[key] : undefined;
  return isObject(found) ? found : {};
};

export function addedEntries({ tokenizer }: TokenizerSource): readonly AddedEntry[] {
  const list = Array.isArray(tokenizer['added_tokens']) ? tokenizer['added_tokens'] : [];
  return list.filter(isObject).map((entry) => ({
    id: Number(entry['id']),
    content: String(entry['content']),
    special: entry['special'] === true,
    hasRules: ['lstrip', 'rstrip', 'single_word'].some((rule) => entry[rule] === true),
  }));
}

/** `vocab` of the model: tokens with their ids. */
export function vocabularyEntries({ tokenizer }: TokenizerSource): ReadonlyMap<string, number> {
  const vocabulary = section(tokenizer['model'], 'vocab');
  return new Map(Object.entries(vocabulary).map(([token, id]) => [token, Number(id)]));
}

/** A part of tokenizer.json that llama.cpp has no name or no place for. */
export const noCounterpart = (key: string, value: unknown, expected: string) =>
  refused({
    file: 'tokenizer.json',
    key,
    value,
    expected,
    fix: 'llama.cpp would split texts in another way: use the Hugging Face folder of this model.',
  });
