import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { charOptions } from '../../test/helpers.js';
import { byteTokenOf } from '../gguf/tokenizer/source.js';
import { buildCharTokenizer } from './char-tokenizer.js';
import { writeTokenizerFiles } from './files.js';
import { tokenByteTable } from './token-bytes.js';
import { createTokenizer, loadTokenizer } from './tokenizer.js';

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../test/fixtures/${name}`, import.meta.url));

interface Case {
  readonly text: string;
  readonly ids: readonly number[];
  readonly decoded: string;
  readonly visible: string;
}

const expected = async (name: string): Promise<readonly Case[]> =>
  JSON.parse(await readFile(`${fixture(name)}/expected.json`, 'utf8')) as Case[];

/**
 * Text as SentencePiece decoders return it: without one leading space, which ids that continue
 * other text must keep.
 */
const stripped = (text: string): string => text.replace(/^ /, '');

describe.each(['byte-level', 'byte-fallback', 'added-spaces'])('a %s tokenizer', (name) => {
  it('encodes and decodes as the Python library does', async () => {
    const tokenizer = await loadTokenizer(fixture(name));
    for (const { text, ids, decoded, visible } of await expected(name)) {
      expect([...tokenizer.encode(text)]).toEqual(ids);
      const exact = name === 'byte-fallback' ? stripped : (value: string): string => value;
      expect(exact(tokenizer.decode(ids))).toBe(decoded);
      expect(exact(tokenizer.decode(ids, { skip: tokenizer.specialTokenIds }))).toBe(visible);
    }
  });

  it('has bytes for every token that together are the text', async () => {
    const tokenizer = await loadTokenizer(fixture(name));
    const table = tokenByteTable(tokenizer);
    expect(table).toHaveLength(tokenizer.vocabularySize);
    expect(tokenByteTable(tokenizer)).toBe(table);
    for (const { ids } of await expected(name)) {
      expect(Buffer.concat(ids.map((id) => table[id]!)).toString()).toBe(tokenizer.decode(ids));
    }
  });
});

describe('a tokenizer', () => {
  it('decodes characters that are cut between tokens to replacement characters', async () => {
    const tokenizer = await loadTokenizer(fixture('byte-fallback'));
    const [first, second] = [tokenizer.tokenToId('<0xC3>')!, tokenizer.tokenToId('<0xA9>')!];
    expect(tokenizer.decode([first, second])).toBe('é');
    expect(tokenizer.decode([first])).toBe('\uFFFD');
  });

  it('decodes nothing to nothing and ignores ids beyond its vocabulary', async () => {
    const tokenizer = await loadTokenizer(fixture('byte-level'));
    expect(tokenizer.decode([])).toBe('');
    expect(tokenizer.decode([151_935])).toBe('');
  });

  it('joins the end tokens of the generation config with its own', async () => {
    const { files } = await loadTokenizer(fixture('byte-level'));
    const start = createTokenizer(files).tokenToId('<|im_start|>')!;
    const end = createTokenizer(files).tokenToId('<|im_end|>')!;
    const eos = (value: unknown): readonly number[] =>
      createTokenizer({ ...files, generationConfig: { eos_token_id: value } }).eosTokenIds;
    expect(eos(start)).toEqual([start, end]);
    expect(eos([end, start])).toEqual([end, start]);
    expect(eos(undefined)).toEqual([end]);
  });

  it('puts before a plain text what its post-processor or add_bos_token says', async () => {
    const { files } = await loadTokenizer(fixture('byte-level'));
    const start = createTokenizer(files).tokenToId('<|im_start|>')!;
    const adding = (id: string): object => ({ SpecialToken: { id, type_id: 0 } });
    const template = {
      type: 'TemplateProcessing',
      single: [adding('<|im_start|>'), { Sequence: { id: 'A', type_id: 0 } }, adding('<|im_end|>')],
      pair: [],
      special_tokens: {
        '<|im_start|>': { id: '<|im_start|>', ids: [start], tokens: ['<|im_start|>'] },
        '<|im_end|>': { id: '<|im_end|>', ids: [start + 1], tokens: ['<|im_end|>'] },
      },
    };
    const prefix = (post_processor: unknown, config: object): readonly number[] =>
      createTokenizer({
        ...files,
        tokenizer: { ...files.tokenizer, post_processor },
        tokenizerConfig: { ...files.tokenizerConfig, bos_token: '<|im_start|>', ...config },
      }).prefixIds;
    const bytes = { type: 'ByteLevel', trim_offsets: false };
    expect(prefix(bytes, {})).toEqual([]);
    expect(prefix(bytes, { add_bos_token: true })).toEqual([start]);
    expect(prefix(template, {})).toEqual([start]);
    expect(prefix({ type: 'Sequence', processors: [bytes, template] }, {})).toEqual([start]);
    expect(prefix(template, { add_bos_token: false })).toEqual([]);
  });

  it('reads chat templates from a file, a string or a named list', async () => {
    const { files } = await loadTokenizer(fixture('byte-level'));
    const named = [
      { name: 'default', template: 'a' },
      { name: 'tool_use', template: 'b' },
    ];
    expect(createTokenizer({ ...files, chatTemplate: 'x' }).chatTemplates).toEqual({
      default: 'x',
    });
    expect(
      createTokenizer({ ...files, tokenizerConfig: { chat_template: 'y' } }).chatTemplates,
    ).toEqual({ default: 'y' });
    expect(
      createTokenizer({ ...files, tokenizerConfig: { chat_template: named } }).chatTemplates,
    ).toEqual({ default: 'a', tool_use: 'b' });
  });

  it('reads a separate template for tools from its file', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'trinity-chat-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const { files } = await loadTokenizer(fixture('byte-level'));
    await writeTokenizerFiles(folder, { ...files, chatTemplate: 'a' });
    await mkdir(path.join(folder, 'additional_chat_templates'));
    await writeFile(path.join(folder, 'additional_chat_templates/tool_use.jinja'), 'b');
    expect((await loadTokenizer(folder)).chatTemplates).toEqual({ default: 'a', tool_use: 'b' });
    await rm(path.join(folder, 'chat_template.jinja'));
    expect((await loadTokenizer(folder)).chatTemplates).toEqual({ default: 'a', tool_use: 'b' });
  });

  it('says which file is missing or damaged', async () => {
    await expect(loadTokenizer(fixture('nowhere'))).rejects.toMatchObject({
      code: 'TOKENIZER_MISSING',
    });
    expect(() =>
      createTokenizer({ tokenizer: { model: { type: 'Nonsense' } }, tokenizerConfig: {} }),
    ).toThrow(/tokenizer\.json is damaged or has .*: Unknown TokenizerModel type: Nonsense\. /);
  });

  it('says that a file is a pointer of git-lfs, or begins with a byte order mark', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'tokenizer-'));
    await writeFile(
      path.join(folder, 'tokenizer.json'),
      'version https://git-lfs.github.com/spec/v1\n',
    );
    await expect(loadTokenizer(folder)).rejects.toMatchObject({ code: 'LFS_POINTER' });
    await writeFile(path.join(folder, 'tokenizer.json'), '\uFEFF{}');
    await expect(loadTokenizer(folder)).rejects.toThrow('begins with a byte order mark');
    await rm(folder, { recursive: true });
  });

  it('rejects decoders whose tokens have no text of their own', async () => {
    const { files } = await loadTokenizer(fixture('byte-level'));
    const odd = createTokenizer({
      ...files,
      tokenizer: { ...files.tokenizer, decoder: { type: 'WordPiece', prefix: '##' } },
    });
    expect(() => tokenByteTable(odd)).toThrow(/"WordPiece"/);
    const replace = { type: 'Replace', pattern: { Regex: '_+' }, content: ' ' };
    const regex = createTokenizer({
      ...files,
      tokenizer: { ...files.tokenizer, decoder: replace },
    });
    expect(() => tokenByteTable(regex)).toThrow(/"Replace" with a Regex/);
  });

  it('refuses a text with a character without a token, if there is no unknown token', () => {
    const model = { type: 'BPE', vocab: { a: 0, b: 1, ab: 2 }, merges: [['a', 'b']] };
    const of = (more: object) =>
      createTokenizer({ tokenizer: { model: { ...model, ...more } }, tokenizerConfig: {} });
    expect([...of({}).encode('aba')]).toEqual([2, 0]);
    for (const more of [{}, { byte_fallback: true }, { unk_token: null, fuse_unk: true }])
      expect(() => of(more).encode('ab\u00E9a')).toThrow(
        expect.objectContaining({
          message: expect.stringMatching(/^"\u00E9" in the text has no token/),
          status: 400,
          code: 'text_not_encodable',
        }),
      );
    const bytes = { pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false } };
    const byteLevel = createTokenizer({ tokenizer: { model, ...bytes }, tokenizerConfig: {} });
    expect([...byteLevel.encode('ab\u0004a')]).toEqual([2, 0]);
    expect([...of({ unk_token: 'b' }).encode('a\u00E9')]).toEqual([0, 1]);
  });

  it('encodes unknown characters of a Unigram model as bytes, if it has them all', () => {
    const bytes = Array.from({ length: 256 }, (_, byte) => byteTokenOf(byte));
    const vocab = ['<unk>', 'a', ...bytes].map((piece) => [piece, -1]);
    const encode = (model: object) => {
      const tokenizer = { model: { vocab, unk_id: 0, ...model } };
      return [...createTokenizer({ tokenizer, tokenizerConfig: {} }).encode('aé日éé')];
    };
    const e = [2 + 0xc3, 2 + 0xa9];
    for (const type of ['Unigram', undefined])
      expect(encode({ type, byte_fallback: true })).toEqual([
        ...[1, ...e, 2 + 0xe6, 2 + 0x97, 2 + 0xa5, ...e, ...e],
      ]);
    expect(encode({ type: 'Unigram' })).toEqual([1, 0]);
    // As in the Python library, which then takes one unknown token for the whole run.
    const part = vocab.filter(([piece]) => piece !== byteTokenOf(0xe6));
    expect(encode({ vocab: part, byte_fallback: true })).toEqual([1, 0]);
  });

  it('refuses a character of a BPE model that has neither its token nor its bytes', () => {
    const bytes = Array.from({ length: 128 }, (_, byte) => byteTokenOf(byte));
    const vocab = Object.fromEntries(['a', ...bytes].map((token, id) => [token, id]));
    const model = { type: 'BPE', vocab, merges: [], byte_fallback: true };
    const tokenizer = createTokenizer({ tokenizer: { model }, tokenizerConfig: {} });
    expect([...tokenizer.encode('ab')]).toEqual([0, 1 + 0x62]);
    expect(() => tokenizer.encode('a日')).toThrow('"日" in the text has no token');
  });

  it('refuses tokens that may not be part of a word', () => {
    const token = { id: 1, content: 'ab', special: false, single_word: true };
    expect(() =>
      createTokenizer({
        tokenizer: { model: { type: 'BPE', vocab: { a: 0 }, merges: [] }, added_tokens: [token] },
        tokenizerConfig: {},
      }),
    ).toThrow(/added_tokens has "ab" with single_word true/);
  });
});

it('ends an encoding whose pattern takes exponential time', () => {
  const files = buildCharTokenizer(charOptions);
  const pattern = { Regex: '(a+)+$' };
  const tokenizer = createTokenizer({
    ...files,
    tokenizer: {
      ...files.tokenizer,
      pre_tokenizer: { type: 'Split', pattern, behavior: 'Isolated', invert: false },
    },
  });
  expect(() => tokenizer.encode(`${'a'.repeat(60)}b`)).toThrow(
    expect.objectContaining({ status: 400, code: 'text_not_encodable' }),
  );
});

const split = (behavior: string, pattern: object, invert = false): object => ({
  type: 'Split',
  pattern,
  behavior,
  invert,
});
const dash = { String: '-' };

/** A tokenizer with a token for each of the pieces. */
const ofPieces = (pre_tokenizer: object, pieces: readonly string[]) =>
  createTokenizer({
    tokenizer: {
      pre_tokenizer,
      model: {
        type: 'WordLevel',
        vocab: Object.fromEntries([...new Set(pieces)].map((piece, id) => [piece, id])),
      },
    },
    tokenizerConfig: {},
  });

describe('a pre-tokenizer splits as in Python:', () => {
  // The pieces are those of `pre_tokenize_str` of the Python library `tokenizers`.
  it.each<readonly [object, string, readonly string[]]>([
    [split('MergedWithPrevious', dash), 'a-b--c', ['a-', 'b-', '-', 'c']],
    [split('MergedWithNext', dash), 'a-b--c', ['a', '-b', '-', '-c']],
    // Gemma's, whose normalizer has replaced all spaces.
    [split('MergedWithPrevious', { String: ' ' }), '\u2581a\u2581b', ['\u2581a\u2581b']],
    [split('Removed', dash), 'a-b--c', ['a', 'b', 'c']],
    [split('Removed', dash, true), 'a-b--c', ['-', '-', '-']],
    [split('Isolated', { Regex: '[a-z]+' }, true), 'ab-1 c', ['ab', '-1 ', 'c']],
    [split('Contiguous', dash), 'a-b--c', ['a', '-', 'b', '--', 'c']],
    [{ type: 'Punctuation', behavior: 'Isolated' }, '!?(x)', ['!', '?', '(', 'x', ')']],
    [{ type: 'Punctuation', behavior: 'Contiguous' }, '!?(x)', ['!?(', 'x', ')']],
    [{ type: 'Whitespace' }, 'caf\u00E9_x 2\u00BD!?', ['caf\u00E9_x', '2', '\u00BD!?']],
    [
      { type: 'Metaspace', replacement: '\u2581', prepend_scheme: 'always', split: true },
      'a  b-c',
      ['\u2581a', '\u2581', '\u2581b-c'],
    ],
    [{ type: 'WhitespaceSplit' }, 'a\u0085b \uFEFFc!', ['a', 'b', '\uFEFFc!']],
    [{ type: 'BertPreTokenizer' }, 'a\u0085b!?c', ['a', 'b', '!', '?', 'c']],
    [{ type: 'FixedLength', length: 2 }, '\u{1F600}ab', ['\u{1F600}a', 'b']],
    [{ type: 'Metaspace', split: false }, 'a b', ['\u2581a\u2581b']],
    [
      { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
      "I'm a\u0085!b",
      ['I', "'m", '\u0120a', '\u00C2\u0127', '!', 'b'],
    ],
    [
      { type: 'ByteLevel', add_prefix_space: true, use_regex: true },
      'x \uFEFF!',
      ['\u0120x', '\u0120\u00EF\u00BB\u00BF!'],
    ],
    [
      {
        type: 'Sequence',
        pretokenizers: [
          { type: 'Digits', individual_digits: true },
          { type: 'ByteLevel', add_prefix_space: false },
        ],
      },
      ' 12 \u00B2',
      ['\u0120', '1', '2', '\u0120', '\u00C2\u00B2'],
    ],
  ])('%j', (step, text, pieces) => {
    const tokenizer = ofPieces(step, pieces);
    expect(Array.from(tokenizer.encode(text), (id) => tokenizer.idToToken(id))).toEqual(pieces);
  });

  it.each([
    split('MergedWithPrevious', { Regex: '-+' }),
    split('MergedWithNext', { String: '--' }),
    split('MergedWithNext', dash, true),
    split('Twice', dash),
    { type: 'UnicodeScripts' },
    { type: 'Sequence', pretokenizers: [{ type: 'Punctuation', behavior: 'MergedWithNext' }] },
  ])('or is refused by name: %j', (step) => {
    expect(() => ofPieces(step, ['a'])).toThrow(/pre_tokenizer .*is not supported/);
  });
});
