/**
 * Pre-tokenizers (rules for splitting text into words before merging) by their name in
 * `tokenizer.ggml.pre`. They consist of the `pre_tokenizer` and the `normalizer` of the original
 * tokenizer.json.
 * @see llama.cpp, `llm_tokenizer_bpe`
 */

export interface PreTokenizer {
  readonly normalizer: unknown;
  readonly preTokenizer: unknown;
  /** True if merges do not apply to a word that is itself a token. */
  readonly ignoreMerges: boolean;
  /** True if llama.cpp adds the BOS token unless `tokenizer.ggml.add_bos_token` is false. */
  readonly addsBos: boolean;
  /**
   * True if llama.cpp splits words with non-ASCII capitals differently than these rules.
   * @default false
   */
  readonly asciiCapitals?: true;
}

const byteLevel = (useRegex: boolean) => ({
  type: 'ByteLevel',
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: useRegex,
});

const sequence = (...pretokenizers: readonly unknown[]) => ({ type: 'Sequence', pretokenizers });

const split = (pattern: string) =>
  sequence(
    { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false },
    byteLevel(false),
  );

const gpt2: PreTokenizer = {
  normalizer: null,
  preTokenizer: byteLevel(true),
  ignoreMerges: false,
  addsBos: false,
};

/** Rules that split off each digit, and then split like GPT-2. */
const singleDigits: PreTokenizer = {
  ...gpt2,
  preTokenizer: sequence({ type: 'Digits', individual_digits: true }, byteLevel(true)),
};

const llama3: PreTokenizer = {
  normalizer: null,
  preTokenizer: split(
    String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  ),
  ignoreMerges: true,
  addsBos: true,
};

const qwen2: PreTokenizer = {
  normalizer: { type: 'NFC' },
  preTokenizer: split(
    String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  ),
  ignoreMerges: false,
  addsBos: false,
};

/** Rules that split like Qwen 2, but treat combining marks as letters. */
const qwen35: PreTokenizer = {
  ...qwen2,
  preTokenizer: split(
    String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  ),
};

/**
 * GPT-4's pattern as in Llama 3. Unlike in Llama 3, merges also apply to words that are tokens, and
 * no BOS token is added. OLMo 2, DBRX and Phi-4 use these rules.
 */
const gpt4: PreTokenizer = { ...llama3, ignoreMerges: false, addsBos: false };

const olmo: PreTokenizer = { ...gpt2, normalizer: { type: 'NFC' } };

/**
 * Returns a pattern that starts a new word at a capital letter.
 * @param end pattern for the end of a word
 * @param digits pattern for a word of digits
 */
const byCase = (end: string, digits: string): string =>
  [
    String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+${end}`,
    String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*${end}`,
    digits,
    String.raw` ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  ].join('|');

const tekken: PreTokenizer = {
  normalizer: null,
  preTokenizer: split(byCase('', String.raw`\p{N}`)),
  ignoreMerges: true,
  addsBos: true,
  asciiCapitals: true,
};

const gpt4o: PreTokenizer = {
  normalizer: null,
  preTokenizer: split(byCase("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", String.raw`\p{N}{1,3}`)),
  ignoreMerges: false,
  addsBos: false,
  asciiCapitals: true,
};

/**
 * Pre-tokenizers by name. If several names have the same rules, the first name is written to files.
 */
export const preTokenizers: ReadonlyMap<string, PreTokenizer> = new Map([
  ['gpt-2', gpt2],
  ['phi-2', gpt2],
  ['smollm', singleDigits],
  ['starcoder', singleDigits],
  ['refact', singleDigits],
  ['command-r', singleDigits],
  ['llama-bpe', llama3],
  ['llama3', llama3],
  ['llama-v3', llama3],
  ['lfm2', llama3],
  ['qwen2', qwen2],
  ['deepseek-r1-qwen', qwen2],
  ['qwen35', qwen35],
  ['olmo', olmo],
  ['dbrx', gpt4],
  ['tekken', tekken],
  ['gpt-4o', gpt4o],
]);
