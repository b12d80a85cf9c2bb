import type { JsonObject } from '../../json/object.js';
import { flag, text } from '../file/typed-value.js';
import { flat, mergesOf } from './save-byte-pairs.js';
import { mergesByScore } from './sentence-pieces.js';
import {
  addedEntries,
  byteTokenOf,
  noCounterpart,
  section,
  vocabularyEntries,
  type TokenizerKeys,
  type TokenizerSource,
} from './source.js';
import { kindNumbers, listTokens, type ListedToken } from './token-list.js';

const space = '▁';
/** Score of tokens that are not made by a merge: single characters, bytes and added tokens. */
const noScore = -1e9;

/**
 * Matches special tokens of Gemma 4 that are written as visible tokens, because programs parse
 * reasoning and tool calls in the text. llama.cpp's converter does the same.
 */
const visible =
  /^<(\|(channel|tool_call|tool_response)|(channel|tool_call|tool_response)\||\|"\|)>$/;

/**
 * Returns the keys of GGUF's tokenizer model `llama` or `gemma4`, from a tokenizer.json with byte
 * fallback.
 * @param rows number of embedding rows
 * @param isGemma4 true for a model of Gemma 4, for which llama.cpp reads merges instead of scores
 * @throws CheckpointError that names the part that has no counterpart in llama.cpp
 */
export function sentencePieceKeys(
  files: TokenizerSource,
  rows: number,
  isGemma4: boolean,
): TokenizerKeys {
  const model = section(files.tokenizer, 'model');
  const vocabulary = vocabularyEntries(files);
  assertBytes(vocabulary);
  const unknown = typeof model['unk_token'] === 'string' ? model['unk_token'] : undefined;
  const prefix = spacePrefix(files.tokenizer);
  const ranked = isGemma4 && !prefix.added;
  const list = listTokens({
    vocabulary: new Map([...vocabulary].map(([token, id]) => [id, listed(token, unknown)])),
    added: addedEntries(files).map((entry) => ({
      ...entry,
      // Special tokens are found in the text before spaces are replaced.
      content: entry.special || ranked ? entry.content : entry.content.replaceAll(space, ' '),
      special: entry.special && !(ranked && visible.test(entry.content)),
    })),
    rows,
    ...(unknown !== undefined && { unknown }),
  });
  const merges = mergesOf(files);
  const scores = ranked ? undefined : scoresOf(list.tokens, merges);
  const order: TokenizerKeys['keys'][number] = scores
    ? ['tokenizer.ggml.scores', { list: 'f32', value: scores }]
    : ['tokenizer.ggml.merges', { list: 'string', value: merges }];
  const notes = scores ? orderNotes(list.tokens, scores, merges) : lineNotes(merges);
  return {
    keys: [
      ['tokenizer.ggml.model', text(ranked ? 'gemma4' : 'llama')],
      ['tokenizer.ggml.pre', text(ranked ? 'gemma4' : 'default')],
      ['tokenizer.ggml.tokens', { list: 'string', value: list.tokens.map((token) => token.text) }],
      order,
      ['tokenizer.ggml.token_type', { list: 'i32', value: kindNumbers(list.tokens) }],
      ['tokenizer.ggml.add_space_prefix', flag(prefix.added)],
    ],
    notes: [...prefix.notes, ...notes, ...list.notes],
  };
}

/**
 * Returns a note for the user if a merge joins a line break with other text, because llama.cpp
 * never does.
 */
const lineNotes = (merges: readonly string[]): readonly string[] =>
  merges.some((merge) => merge.includes('\n') && /[^\n ]/.test(merge))
    ? [
        'llama.cpp splits texts at line breaks, which merges of tokenizer.json join with other text: ids of some texts differ.',
      ]
    : [];

const byteToken = /^<0x[0-9A-F]{2}>$/;

const listed = (token: string, unknown: string | undefined): ListedToken => ({
  text: token,
  kind: token === unknown ? 'unknown' : byteToken.test(token) ? 'byte' : 'normal',
});

/**
 * Checks that every byte has a token. Without one, llama.cpp would crash at the first character
 * that has no token of its own.
 */
function assertBytes(vocabulary: ReadonlyMap<string, number>): void {
  const missing = Array.from({ length: 256 }, (_, byte) => byteTokenOf(byte)).find(
    (token) => !vocabulary.has(token),
  );
  if (missing !== undefined)
    throw noCounterpart(
      'model.vocab',
      `without ${missing}`,
      'a token for every byte, <0x00> to <0xFF>',
    );
}

/**
 * Returns the score of each token: the earlier the merge that makes the token, the higher its
 * score.
 */
function scoresOf(tokens: readonly ListedToken[], merges: readonly string[]): readonly number[] {
  const ranks = new Map<string, number>();
  for (const merge of merges) {
    const made = merge.replace(' ', '');
    if (!ranks.has(made)) ranks.set(made, ranks.size);
  }
  return tokens.map(({ text: token, kind }) => {
    const rank = kind === 'normal' ? ranks.get(token) : undefined;
    return rank === undefined ? noScore : -rank;
  });
}

/**
 * Returns a note for the user if llama.cpp tokenizes some text differently than tokenizer.json
 * does. llama.cpp has no list of merges: it merges any two tokens whose concatenation is a token,
 * beginning with the pair whose result has the best score.
 */
function orderNotes(
  tokens: readonly ListedToken[],
  scores: readonly number[],
  merges: readonly string[],
): readonly string[] {
  const texts = tokens.map(({ text: token, kind }) => (kind === 'normal' ? token : ''));
  const derived = mergesByScore(texts, scores).map((pair) => pair.join(' '));
  const known = new Set(merges);
  const extra = derived.filter((merge) => !known.has(merge)).length;
  const made = merges.map((merge) => merge.replace(' ', ''));
  const runs = made.filter((token, i) => token !== made[i - 1]).length;
  // Merges that make the same token are adjacent if the merges are in the order of the scores.
  if (extra === 0 && runs === new Set(made).size) return [];
  return [
    `The merges of tokenizer.json do not follow from scores, by which llama.cpp joins tokens: ids of some texts differ (${extra} of ${derived.length} pairs are not merged by tokenizer.json).`,
  ];
}

interface SpacePrefix {
  readonly added: boolean;
  readonly notes: readonly string[];
}

/**
 * Determines whether the tokenizer puts a space before every text.
 * @throws CheckpointError for a normalizer or pre-tokenizer that llama.cpp does not support
 */
function spacePrefix(tokenizer: TokenizerSource['tokenizer']): SpacePrefix {
  const { normalizer, pre_tokenizer: preTokenizer } = tokenizer;
  const steps = flat(normalizer, 'normalizers');
  const splits = flat(preTokenizer, 'pretokenizers');
  const isReplace = (step: JsonObject): boolean =>
    section(step, 'pattern')['String'] === ' ' && step['content'] === space;
  const known = steps.every(
    (step) => step['type'] === 'Prepend' || (step['type'] === 'Replace' && isReplace(step)),
  );
  if (!known) throw noCounterpart('normalizer', normalizer, 'Prepend "▁" and Replace " " by "▁"');
  const metaspace = splits.find(({ type }) => type === 'Metaspace');
  // A split at spaces has no effect, because the normalizer has replaced all spaces.
  const other = splits.find(
    (step) => step['type'] !== 'Metaspace' && section(step, 'pattern')['String'] !== ' ',
  );
  if (other) throw noCounterpart('pre_tokenizer', preTokenizer, 'null, or Metaspace without split');
  if (!metaspace) return { added: steps.some(({ type }) => type === 'Prepend'), notes: [] };
  if (metaspace['split'] !== false)
    throw noCounterpart(
      'pre_tokenizer.split',
      metaspace['split'],
      'false, because llama.cpp joins across spaces',
    );
  const { prepend_scheme: scheme = 'always' } = metaspace;
  const note = scheme === 'first' || scheme === 'always' ? [metaspaceNotes[scheme]] : [];
  return { added: scheme === 'always', notes: note };
}

/**
 * Notes for the user about text that llama.cpp tokenizes differently, by the `prepend_scheme` of
 * the Metaspace pre-tokenizer.
 */
const metaspaceNotes = {
  always:
    'llama.cpp puts a space also before a text that begins with one; tokenizer.json does not (Metaspace): ids of such texts differ.',
  first:
    'llama.cpp puts no space before a text; tokenizer.json does if no special token is before it (Metaspace, prepend_scheme "first"): ids of such texts differ, those of chat prompts do not.',
} as const;
