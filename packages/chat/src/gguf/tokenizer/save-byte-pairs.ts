/** Makes the keys of GGUF's tokenizer model `gpt2` from a tokenizer.json with byte-level BPE. */
import { isObject, type JsonObject } from '../../json/object.js';
import { text, type TypedValue } from '../file/typed-value.js';
import { preTokenizers, type PreTokenizer } from './pre-tokenizers.js';
import {
  addedEntries,
  noCounterpart,
  section,
  vocabularyEntries,
  type TokenizerKeys,
  type TokenizerSource,
} from './source.js';
import { kindNumbers, listTokens, type ListedToken } from './token-list.js';

/**
 * Returns the keys of a tokenizer with byte-level BPE.
 * @param rows number of embedding rows
 * @throws CheckpointError that names a normalizer or pre-tokenizer that llama.cpp does not support
 */
export function bytePairKeys(files: TokenizerSource, rows: number): TokenizerKeys {
  const found = findPreTokenizer(files);
  const vocabulary = new Map(
    [...vocabularyEntries(files)].map(([token, id]): [number, ListedToken] => [
      id,
      { text: token, kind: 'normal' },
    ]),
  );
  const list = listTokens({ vocabulary, added: addedEntries(files), rows });
  return {
    keys: byteLevelKeys(found.name, list.tokens, mergesOf(files)),
    notes: [...found.notes, ...list.notes],
  };
}

export const byteLevelKeys = (
  pre: string,
  tokens: readonly ListedToken[],
  merges: readonly string[],
): readonly (readonly [string, TypedValue])[] => [
  ['tokenizer.ggml.model', text('gpt2')],
  ['tokenizer.ggml.pre', text(pre)],
  ['tokenizer.ggml.tokens', { list: 'string', value: tokens.map((token) => token.text) }],
  ['tokenizer.ggml.token_type', { list: 'i32', value: kindNumbers(tokens) }],
  ['tokenizer.ggml.merges', { list: 'string', value: merges }],
];

/**
 * Returns the merges as strings of two parts with a space between them. tokenizer.json has such
 * strings, or pairs.
 */
export function mergesOf({ tokenizer }: TokenizerSource): readonly string[] {
  const merges = section(tokenizer, 'model')['merges'];
  if (!Array.isArray(merges)) throw noCounterpart('model.merges', merges, 'a list of pairs');
  return merges.map((merge: unknown) => (Array.isArray(merge) ? merge.join(' ') : String(merge)));
}

interface FoundName {
  readonly name: string;
  readonly notes: readonly string[];
}

function findPreTokenizer({ tokenizer }: TokenizerSource): FoundName {
  const { pre_tokenizer: preTokenizer, normalizer = null } = tokenizer;
  const model = section(tokenizer, 'model');
  const ignoreMerges = model['ignore_merges'] === true;
  const alike = [...preTokenizers].filter(
    ([, known]) => canonical(known.preTokenizer) === canonical(preTokenizer),
  );
  if (alike.length === 0)
    throw noCounterpart(
      'pre_tokenizer',
      preTokenizer,
      `that of one of ${[...preTokenizers.keys()].join(', ')}`,
    );
  const normal = normalization(normalizer);
  const score = ([, known]: readonly [string, PreTokenizer]): number =>
    2 * Number(known.ignoreMerges === ignoreMerges) +
    Number(normalization(known.normalizer) === normal);
  const [name, known] = alike.reduce((best, next) => (score(next) > score(best) ? next : best));
  return {
    name,
    notes: [
      ...(normal === 'NFC'
        ? ['llama.cpp does not normalize texts to NFC: ids of decomposed characters differ.']
        : []),
      ...(known.asciiCapitals
        ? [
            `llama.cpp splits words with capitals outside ASCII in another way (${name}): their ids differ.`,
          ]
        : []),
      ...(known.ignoreMerges === ignoreMerges
        ? []
        : [`llama.cpp reads ${name} with ignore_merges ${known.ignoreMerges}: ids may differ.`]),
    ],
  };
}

/**
 * Returns the normalization of the tokenizer.
 * @throws CheckpointError for normalizers that have no counterpart in llama.cpp
 */
function normalization(normalizer: unknown): 'none' | 'NFC' {
  const steps = flat(normalizer, 'normalizers');
  if (steps.length === 0) return 'none';
  if (steps.length === 1 && steps[0]?.['type'] === 'NFC') return 'NFC';
  throw noCounterpart('normalizer', normalizer, 'null or NFC');
}

/** Returns the normalizers or pre-tokenizers as a flat list, without nested sequences. */
export function flat(step: unknown, list: 'normalizers' | 'pretokenizers'): readonly JsonObject[] {
  if (!isObject(step)) return [];
  const inner = step[list];
  return step['type'] === 'Sequence' && Array.isArray(inner)
    ? inner.flatMap((each) => flat(each, list))
    : [step];
}

/**
 * Returns a string that is equal for pre-tokenizers that split text in the same way. Ignores token
 * offsets.
 */
function canonical(preTokenizer: unknown): string {
  const steps = flat(preTokenizer, 'pretokenizers').map((step) => {
    const { trim_offsets: _offsets, ...rest } = step;
    // If a pattern matches everything, removing what it does not match is the same as isolating its
    // matches.
    const isolates = rest['behavior'] === 'Removed' && rest['invert'] === true;
    const same = isolates ? { ...rest, behavior: 'Isolated', invert: false } : rest;
    return Object.entries(same).toSorted(([a], [b]) => (a < b ? -1 : 1));
  });
  return JSON.stringify(steps);
}
