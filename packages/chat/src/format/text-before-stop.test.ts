import fc from 'fast-check';
import { expect, it } from 'vitest';
import { charOptions } from '../../test/helpers.js';
import { buildCharTokenizer } from '../tokenizer/char-tokenizer.js';
import { createTokenizer } from '../tokenizer/tokenizer.js';
import { createChatFormat } from './chat-format.js';
import { textBeforeStop } from './text-before-stop.js';

const words = ['\n\n', 'aa', 'ab\nab', 'ba\n', '\nb'];
const tokenizer = createTokenizer(buildCharTokenizer({ ...charOptions, words }));
const token = fc.constantFrom('a', 'b', '\n', '<|im_end|>', ...words);

it('cuts at the first occurrence that the last token completes', () => {
  const tokens = tokenizer.encode('foo\n\n');
  expect(tokens).toHaveLength(4);
  const turn = createChatFormat({ tokenizer }).readTurn(tokens, { tools: false, stopString: '\n' });
  expect(turn.text).toBe('foo');
});

it('cuts where a reader of single characters would stop', () => {
  const stops = fc.constantFrom('\n', 'a', 'ab', 'a\n', '\na', 'aba', '\n\n');
  fc.assert(
    fc.property(fc.array(token, { minLength: 1 }), stops, (texts, stopString) => {
      const tokens = Int32Array.from(texts, (text) => tokenizer.tokenToId(text) ?? 0);
      const skip = tokenizer.specialTokenIds;
      const whole = tokenizer.decode(tokens, { skip });
      const read = tokenizer.decode(tokens.slice(0, -1), { skip }).length;
      const ends = Array.from({ length: whole.length - read }, (_, i) => read + i + 1);
      const end = ends.find((at) => whole.slice(0, at).endsWith(stopString));
      fc.pre(end !== undefined);
      expect(textBeforeStop(tokenizer, tokens, { skip, stopString })).toBe(
        whole.slice(0, (end ?? 0) - stopString.length),
      );
    }),
  );
});

it('cuts behind a character whose bytes the last token completes', () => {
  const texts = new Map([
    ['1', 'a\uFFFD\uFFFD\uFFFD'],
    ['1,2', 'a😀\n\n'],
  ]);
  const split = { decode: (ids: ArrayLike<number>) => texts.get(Array.from(ids).join(',')) ?? '' };
  expect(textBeforeStop(split, Int32Array.of(1, 2), { stopString: '\n' })).toBe('a😀');
});
