import fc from 'fast-check';
import { expect, it } from 'vitest';
import { buildCharTokenizer, chatTemplates } from '../index.js';
import { tokenTexts } from './token-bytes.js';
import { createTokenizer } from './tokenizer.js';

const tokenizer = createTokenizer(
  buildCharTokenizer({
    characters: 'abcü€😀 \n',
    eosToken: '<|im_end|>',
    chatTemplate: chatTemplates.minimal,
  }),
);

it('gives one piece for each token, and together the text', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: tokenizer.vocabularySize + 3 })), (ids) => {
      const pieces = tokenTexts(tokenizer, ids);
      expect(pieces).toHaveLength(ids.length);
      expect(pieces.join('')).toBe(
        tokenizer.decode(ids.filter((id) => id < tokenizer.vocabularySize)),
      );
    }),
  );
});
