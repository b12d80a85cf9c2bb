/**
 * Makes `tokenizer.json` for GGUF's tokenizer models `llama` and `gemma4`, which have a
 * SentencePiece vocabulary. With `gemma4`, the file holds the merges. With `llama`, it holds
 * scores, from which the merges are computed: llama.cpp merges the pair whose result has the best
 * score first.
 */
import { unsupported } from '../file/failure.js';
import type { GgufFile } from '../file/gguf-file.js';
import { keysOf, type Keys } from '../model/keys.js';
import { tokensOf } from './tokens.js';

const space = '▁';
const mergesKey = 'tokenizer.ggml.merges';
const scoresKey = 'tokenizer.ggml.scores';

/**
 * Returns the content of `tokenizer.json`.
 * @throws CheckpointError when there are neither merges nor scores
 */
export function sentencePieceTokenizer(file: GgufFile): Readonly<Record<string, unknown>> {
  const keys = keysOf(file);
  const { texts, added } = tokensOf(file);
  const merges = isGemma4(keys) ? needed(file, mergesKey, keys.texts(mergesKey)) : undefined;
  const prefix = keys.flag('tokenizer.ggml.add_space_prefix') ?? merges === undefined;
  const unknown = texts[keys.number('tokenizer.ggml.unknown_token_id') ?? 0];
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer: {
      type: 'Sequence',
      normalizers: [
        ...(prefix ? [{ type: 'Prepend', prepend: space }] : []),
        { type: 'Replace', pattern: { String: ' ' }, content: space },
      ],
    },
    pre_tokenizer: null,
    post_processor: null,
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: space }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        ...(prefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
      ],
    },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: unknown,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: false,
      vocab: Object.fromEntries(texts.map((text, id) => [text, id])),
      merges: merges ?? mergesByScore(texts, needed(file, scoresKey, keys.numbers(scoresKey))),
    },
  };
}

/**
 * Returns true for the tokenizer of Gemma 4. In files that Ollama converts, only the key of the
 * pre-tokenizer shows it.
 */
export const isGemma4 = (keys: Keys): boolean =>
  ['model', 'pre'].some((name) => keys.text(`tokenizer.ggml.${name}`) === 'gemma4');

function needed<T>({ path }: GgufFile, key: string, value: T | undefined): T {
  if (value !== undefined) return value;
  throw unsupported(path, key, `it holds no ${key}. Use the Hugging Face folder of this model.`);
}

/**
 * Returns all pairs of tokens whose concatenation is a token. The pair whose result has the best
 * score comes first; for equal scores, the pair with the smaller ids.
 */
export function mergesByScore(
  texts: readonly string[],
  scores: readonly number[],
): readonly (readonly [string, string])[] {
  const ids = new Map(texts.map((text, id) => [text, id]));
  const found = texts.flatMap((text, id) => {
    const letters = [...text];
    return letters.slice(1).flatMap((_, i) => {
      const [left, right] = [letters.slice(0, i + 1).join(''), letters.slice(i + 1).join('')];
      const [a, b] = [ids.get(left), ids.get(right)];
      return a === undefined || b === undefined ? [] : [{ pair: [left, right] as const, id, a, b }];
    });
  });
  return found
    .toSorted((x, y) => (scores[y.id] ?? 0) - (scores[x.id] ?? 0) || x.a - y.a || x.b - y.b)
    .map(({ pair }) => pair);
}
