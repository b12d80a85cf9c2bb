/**
 * Rewrites the pre-tokenizers of tokenizer.json as equivalent ones that `@huggingface/tokenizers`
 * applies in the same way as the Python library does.
 * @see https://github.com/huggingface/tokenizers/tree/main/tokenizers/src/pre_tokenizers
 */
import { CheckpointError } from '@trinity-rft/core';
import { isObject, type JsonObject } from '../json/object.js';

/** Pattern with which GPT-2 splits text into words. */
const words = String.raw`'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;
const letters = String.raw`\p{Alphabetic}\p{M}\p{Nd}\p{Pc}`;
const punctuation = String.raw`[\p{P}\x21-\x2F\x3A-\x40\x5B-\x60\x7B-\x7E]`;

const splitBy = (regex: string, behavior: unknown, invert = false): JsonObject => ({
  type: 'Split',
  pattern: { Regex: regex },
  behavior,
  invert,
});

const isolated = (regex: string): JsonObject => splitBy(regex, 'Isolated');

const sequence = (...pretokenizers: readonly unknown[]): JsonObject => ({
  type: 'Sequence',
  pretokenizers,
});

/** Pre-tokenizer that puts a space before a text that does not begin with one. */
const prefix: JsonObject = { type: 'Metaspace', replacement: ' ', prepend_scheme: 'always' };

/**
 * Rewriting function for each supported type of pre-tokenizer. The JavaScript library ignores some
 * of their settings, or uses other classes of characters.
 */
const rewrites: Readonly<Record<string, (step: JsonObject) => unknown>> = {
  Sequence: ({ pretokenizers: steps }) =>
    sequence(...(Array.isArray(steps) ? steps.map(supportedPreTokenizer) : [])),
  // ² and ½ are digits too: https://doc.rust-lang.org/std/primitive.char.html#method.is_numeric
  Digits: ({ individual_digits: isSingle }) =>
    isolated(isSingle === true ? String.raw`\p{N}` : String.raw`\p{N}+`),
  ByteLevel: (step) =>
    step['use_regex'] === false
      ? step
      : sequence(...(step['add_prefix_space'] === true ? [prefix] : []), isolated(words), {
          ...step,
          add_prefix_space: false,
          use_regex: false,
        }),
  Metaspace: (step) =>
    step['split'] === false
      ? step
      : sequence(step, before(typeof step['replacement'] === 'string' ? step['replacement'] : '▁')),
  Punctuation: ({ behavior = 'Isolated' }) => split(splitBy(punctuation, behavior)),
  // The library's `\w` includes ½.
  Whitespace: () => splitBy(`[${letters}]+|[^${letters}\\s]+`, 'Removed', true),
  // White space is that of Unicode, with U+0085 and without U+FEFF.
  WhitespaceSplit: () => whiteSpace,
  BertPreTokenizer: () => sequence(whiteSpace, isolated(punctuation)),
  // Whole characters, where the library cuts surrogate pairs.
  FixedLength: ({ length = 5 }) => isolated(String.raw`[\s\S]{1,${String(length)}}`),
  Split: split,
};

const whiteSpace = splitBy(String.raw`\p{White_Space}+`, 'Removed');

/**
 * Returns a pre-tokenizer that splits text as `step` does in Python.
 * @throws CheckpointError that names a type or a way of splitting that is not supported
 */
export function supportedPreTokenizer(step: unknown): unknown {
  if (!isObject(step)) return step;
  const type = String(step['type']);
  const rewrite = Object.hasOwn(rewrites, type) ? rewrites[type] : undefined;
  if (rewrite) return rewrite(step);
  throw new CheckpointError(
    `tokenizer.json: the pre_tokenizer ${JSON.stringify(step['type'])} is not supported. Expected one of ${Object.keys(rewrites).join(', ')}.`,
    { code: 'TOKENIZER_UNSUPPORTED' },
  );
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);

/** Returns a pre-tokenizer that splits text before each occurrence of a character. */
const before = (character: string): JsonObject => isolated(`(?=${escaped(character)})`);

/**
 * Rewrites a `Split` step. The library supports the behaviors `Isolated` without `invert`, and
 * `Removed` with a regular expression.
 * @throws CheckpointError for a behavior that cannot be expressed by these
 */
function split(step: JsonObject): unknown {
  const { pattern, behavior, invert = false } = step;
  const { Regex: regex, String: text } = isObject(pattern) ? pattern : {};
  const source = typeof text === 'string' ? escaped(text) : String(regex);
  switch (String(behavior).toLowerCase()) {
    case 'isolated':
      return invert === true ? { ...step, invert: false } : step;
    case 'contiguous':
      return isolated(`(?:${source})+`);
    case 'removed':
      return { ...step, pattern: { Regex: source } };
    case 'mergedwithprevious':
    case 'mergedwithnext':
      // Occurrences of one character do not overlap.
      if (typeof text === 'string' && Array.from(text).length === 1 && invert === false)
        return isolated(
          String(behavior).toLowerCase() === 'mergedwithnext' ? `(?=${source})` : `(?<=${source})`,
        );
  }
  throw new CheckpointError(
    `tokenizer.json: pre_tokenizer ${JSON.stringify(step)} is not supported. Expected the behavior Isolated, Contiguous or Removed, or MergedWithPrevious or MergedWithNext with one character.`,
    { code: 'TOKENIZER_UNSUPPORTED' },
  );
}
