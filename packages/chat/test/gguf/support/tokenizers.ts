/** Tokenizers whose merges are learned from a text, and test texts for them. */
import { createRandom } from '@trinity-rft/core';
import type { TokenizerFiles } from '../../../src/tokenizer/files.js';
import { mergesByScore } from '../../../src/gguf/tokenizer/sentence-pieces.js';
import type { PreTokenizer } from '../../../src/gguf/tokenizer/pre-tokenizers.js';

/** Pieces of text that pre-tokenizers split in different ways. */
const pieces = [
  ...['the', ' quick', ' Brown', 'fox', "I'll", " it's", "HE'S", 'camelCase', 'XMLHttp', ' ABC'],
  ...[
    '1',
    '42',
    '1234',
    '3.14159',
    ' 7',
    '2024-11-05',
    ' ',
    '  ',
    '   ',
    '\n',
    '\n\n',
    '\t',
    '\r\n',
  ],
  ...[
    'café',
    'naïve',
    ' Größe',
    'ÉCOLE',
    'Привет',
    ' мир',
    '東京',
    '日本語',
    '한국어',
    'العربية',
    'हिन्दी',
  ],
  ...[
    '!',
    '...',
    ' -- ',
    '(x)',
    '{"a": 1}',
    '=>',
    '//',
    '/*',
    '$5',
    '€',
    '😀',
    '👩‍💻',
    '½',
    '²',
    '_',
    '#',
  ],
  ...[
    ' don’t',
    'a',
    ' b',
    '  indent',
    'word\n',
    ' end.',
    '"quoted"',
    ' café',
    'x_1',
    'Hello',
    ', world',
  ],
] as const;

const text = (seed: number, most: number): string => {
  const random = createRandom(seed);
  const pick = (): string => pieces[random.integer(pieces.length)] ?? '';
  const length = 1 + random.integer(most);
  return Array.from({ length }, pick).join('').normalize('NFC');
};

/** 200 test texts, seeded. */
export const texts = Array.from({ length: 200 }, (_, i) => text(i + 1, 12));
/** Text from which merges are learned. */
const lesson = Array.from({ length: 150 }, (_, i) => text(1_000 + i, 30)).join('');

/** Merges the most frequent pair `count` times, also across word boundaries. */
function learnMerges(
  symbols: readonly string[],
  count: number,
): readonly (readonly [string, string])[] {
  const merges: [string, string][] = [];
  let row = [...symbols];
  while (merges.length < count) {
    const found = new Map<string, { pair: [string, string]; times: number }>();
    for (const [i, left] of row.slice(0, -1).entries()) {
      const pair: [string, string] = [left, row[i + 1] ?? ''];
      const key = pair.join('\0');
      const entry = found.get(key) ?? { pair, times: 0 };
      entry.times++;
      found.set(key, entry);
    }
    const best = [...found.values()].reduce((a, b) => (b.times > a.times ? b : a));
    merges.push(best.pair);
    row = join(row, best.pair);
  }
  return merges;
}

function join(row: readonly string[], [left, right]: readonly [string, string]): string[] {
  const next: string[] = [];
  for (let i = 0; i < row.length; i++) {
    const both = row[i] === left && row[i + 1] === right;
    next.push(both ? left + right : (row[i] ?? ''));
    if (both) i++;
  }
  return next;
}

/** The 256 characters that stand for bytes in byte-level tokens. */
const byteAlphabet = ((): readonly string[] => {
  const visible = (byte: number): boolean =>
    (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) =>
    String.fromCharCode(visible(byte) ? byte : next++),
  );
})();

const added = (id: number, content: string, special: boolean) => ({
  id,
  content,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
  special,
});

const vocabularyOf = (tokens: readonly string[]): Record<string, number> =>
  Object.fromEntries(tokens.map((token, id) => [token, id]));

const config = { eos_token: '<|im_end|>', bos_token: '<|im_start|>' };

const learnedOfBytes = once(() =>
  learnMerges(
    [...Buffer.from(lesson)].map((byte) => byteAlphabet[byte] ?? ''),
    400,
  ),
);

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/**
 * Byte-pair tokenizer whose merges cross the boundaries of the pre-tokenizer, so that a wrong split
 * changes the ids.
 */
export function bytePairs({
  normalizer,
  preTokenizer,
  ignoreMerges,
}: PreTokenizer): TokenizerFiles {
  const learned = learnedOfBytes();
  const tokens = [...new Set([...byteAlphabet, ...learned.map((pair) => pair.join(''))])];
  return {
    tokenizer: {
      added_tokens: [
        added(tokens.length, '<|im_start|>', true),
        added(tokens.length + 1, '<|im_end|>', true),
        added(tokens.length + 2, '<tool_call>', false),
      ],
      normalizer,
      pre_tokenizer: preTokenizer,
      post_processor: null,
      decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
      model: {
        type: 'BPE',
        byte_fallback: false,
        ignore_merges: ignoreMerges,
        vocab: vocabularyOf(tokens),
        merges: learned.map((pair) => [...pair]),
      },
    },
    tokenizerConfig: config,
  };
}

const space = '▁';
const replace = { type: 'Replace', pattern: { String: ' ' }, content: space };

/** Ways in which SentencePiece tokenizers put a space before a text. */
export const spacePrefixes = {
  'a space before each text': {
    normalizer: { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: space }, replace] },
    pre_tokenizer: null,
  },
  'no space before a text': { normalizer: replace, pre_tokenizer: null },
  Metaspace: {
    normalizer: null,
    pre_tokenizer: {
      type: 'Metaspace',
      replacement: space,
      prepend_scheme: 'always',
      split: false,
    },
  },
  'Metaspace of the first text': {
    normalizer: null,
    pre_tokenizer: {
      type: 'Metaspace',
      replacement: space,
      prepend_scheme: 'first',
      split: false,
    },
  },
} as const;

const letters = [...lesson.replaceAll(' ', space)].filter((letter) => !'東日한'.includes(letter));
const learnedOfLetters = once(() => learnMerges(letters, 300).map((pair) => pair.join('')));

export function sentencePieces(prefix: keyof typeof spacePrefixes): TokenizerFiles {
  const bytes = Array.from(
    { length: 256 },
    (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
  );
  const learned = learnedOfLetters();
  const tokens = [...new Set(['<unk>', '<s>', '</s>', ...bytes, ...learned, ...letters])];
  const scores = tokens.map((token) => (learned.includes(token) ? -learned.indexOf(token) : -1e9));
  const own = tokens.map((token, id) => (id < 259 ? '' : token));
  return {
    tokenizer: {
      added_tokens: [added(0, '<unk>', true), added(1, '<s>', true), added(2, '</s>', true)],
      ...spacePrefixes[prefix],
      post_processor: null,
      decoder: {
        type: 'Sequence',
        decoders: [
          { type: 'Replace', pattern: { String: space }, content: ' ' },
          { type: 'ByteFallback' },
          { type: 'Fuse' },
        ],
      },
      model: {
        type: 'BPE',
        unk_token: '<unk>',
        fuse_unk: true,
        byte_fallback: true,
        ignore_merges: false,
        vocab: vocabularyOf(tokens),
        merges: mergesByScore(own, scores).map((pair) => [...pair]),
      },
    },
    tokenizerConfig: { eos_token: '</s>', bos_token: '<s>', unk_token: '<unk>' },
  };
}
