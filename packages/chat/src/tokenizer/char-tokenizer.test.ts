import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { charOptions } from '../../test/helpers.js';
import { buildCharTokenizer } from './char-tokenizer.js';
import { writeTokenizerFiles } from './files.js';
import { createTokenizer, loadTokenizer } from './tokenizer.js';

const tokenizer = createTokenizer(buildCharTokenizer(charOptions));
const tokens = (text: string): readonly (string | undefined)[] =>
  Array.from(tokenizer.encode(text), (id) => tokenizer.idToToken(id));

describe('a character tokenizer', () => {
  it('decodes what it encodes, whatever is mixed', () => {
    const pieces = [
      ...Array.from(charOptions.characters),
      ...charOptions.words!,
      ...charOptions.specialTokens!,
      ...charOptions.markers!,
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces)), (parts) => {
        expect(tokenizer.decode(tokenizer.encode(parts.join('')))).toBe(parts.join(''));
      }),
    );
  });

  it('takes the longest word that fits, from the left', () => {
    expect(tokens('band anassistant')).toEqual(['b', 'and', ' ', 'an', 'assistant']);
  });

  it('has one id for special tokens and markers, and hides only the former', () => {
    expect(tokens('<|im_start|>a<tool_call>')).toEqual(['<|im_start|>', 'a', '<tool_call>']);
    expect(
      tokenizer.decode(tokenizer.encode('<|im_start|>a<tool_call>'), {
        skip: tokenizer.specialTokenIds,
      }),
    ).toBe('a<tool_call>');
  });

  it('turns every other character into the unknown token', () => {
    expect(tokens('é\u{1F600}a')).toEqual(['<unk>', '<unk>', 'a']);
  });

  // Expected ids: the result of Python's transformers 5.23 for these files.
  it('encodes as Python does', () => {
    const small = createTokenizer(
      buildCharTokenizer({
        characters: '0123456789+=\n',
        words: ['12', '123'],
        eosToken: '<eos>',
        markers: ['<tool_call>'],
      }),
    );
    expect([...small.encode('12+1234=é\n<tool_call><eos>9')]).toEqual([
      3, 15, 4, 9, 16, 0, 17, 2, 1, 14,
    ]);
  });

  it('is the same after its files were written and read', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'chat-'));
    try {
      await writeTokenizerFiles(join(folder, 'model'), tokenizer.files);
      expect((await loadTokenizer(join(folder, 'model'))).files).toEqual(tokenizer.files);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('knows its end and padding tokens', () => {
    expect(tokenizer.eosTokenIds).toEqual([tokenizer.tokenToId('<|im_end|>')]);
    expect(tokenizer.files.generationConfig).toEqual({
      eos_token_id: tokenizer.eosTokenIds[0],
      pad_token_id: tokenizer.tokenToId('<|endoftext|>'),
    });
  });

  it.each([
    ['a duplicate', { characters: 'aba' }, /"a" is listed twice/],
    ['a word among the characters', { characters: ['a', 'bc'] }, /"bc" is not one character/],
    [
      'a template that prints what has no token',
      { characters: 'abc', words: [] },
      /The chat template prints .*"u".* have no token/,
    ],
  ])('rejects %s', (_, change, message) => {
    expect(() => buildCharTokenizer({ ...charOptions, ...change })).toThrow(message);
  });
});
