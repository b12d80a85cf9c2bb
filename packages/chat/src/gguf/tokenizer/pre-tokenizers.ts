/**
 * How text is split before pairs are merged, by the name in `tokenizer.ggml.pre`: the `pre_tokenizer`
 * and `normalizer` of the original tokenizer.json.
 * @see llama.cpp, `llm_tokenizer_bpe`
 */

export interface PreTokenizer {
  readonly normalizer: unknown;
  readonly preTokenizer: unknown;
  /** A word that is a token is not split into smaller ones. */
  readonly ignoreMerges: boolean;
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
};

/** Each digit by itself, then as GPT-2. */
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
};

const qwen2: PreTokenizer = {
  normalizer: { type: 'NFC' },
  preTokenizer: split(
    String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  ),
  ignoreMerges: false,
};

export const preTokenizers: ReadonlyMap<string, PreTokenizer> = new Map([
  ['gpt-2', gpt2],
  ['smollm', singleDigits],
  ['starcoder', singleDigits],
  ['refact', singleDigits],
  ['command-r', singleDigits],
  ['llama-bpe', llama3],
  ['llama3', llama3],
  ['llama-v3', llama3],
  ['qwen2', qwen2],
  ['deepseek-r1-qwen', qwen2],
]);
