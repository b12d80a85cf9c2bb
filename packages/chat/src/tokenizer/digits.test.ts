import { expect, it } from 'vitest';
import { createTokenizer } from './tokenizer.js';

it.each([
  [true, ['a', '\u00B2', '\u00BD', '1', '2', 'b']],
  [false, ['a', '\u00B2\u00BD12', 'b']],
])('Digits isolates all numerals, as Python does: one by one %s', (individual, parts) => {
  const vocab = Object.fromEntries(['<unk>', ...parts].map((token, id) => [token, id]));
  const tokenizer = createTokenizer({
    tokenizer: {
      pre_tokenizer: {
        type: 'Sequence',
        pretokenizers: [{ type: 'Digits', individual_digits: individual }],
      },
      decoder: { type: 'Fuse' },
      model: { type: 'WordLevel', vocab, unk_token: '<unk>' },
    },
    tokenizerConfig: {},
  });
  expect([...tokenizer.encode(parts.join(''))]).toEqual(parts.map((_, id) => id + 1));
});
