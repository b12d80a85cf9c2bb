import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wholeResponse } from './inputs.js';
import { hasLooseLayout, hasOneThought, hasStrictLayout } from './layout.js';

/** Texts made of the tags of layouts; short, because the patterns below may backtrack. */
const text = fc
  .array(fc.constantFrom('<think>', '</think>', '<answer>', '</answer>', '\n', '\n', ' ', 'a'), {
    maxLength: 14,
  })
  .map((pieces) => pieces.join(''));
const tidy = fc
  .tuple(text, text, text)
  .map(([a, b, c]) => `<think>\n${a}\n</think>\n<answer>\n${b}\n</answer>${c}`);
const loose = fc
  .tuple(text, text, text, text)
  .map(([a, b, c, d]) => `${a}<think>${b}</think> \n<answer>${c}</answer>${d}`);
const response = fc.oneof(text, tidy, loose);

describe('layouts', () => {
  it('are those of the patterns of Trinity-RFT, with each tag once', () => {
    const strict = /^<think>\n.*?\n<\/think>\n<answer>\n.*?\n<\/answer>$/ms;
    const loosely = /^[^]*?<think>.*?<\/think>\s*<answer>.*?<\/answer>\s*$/ms;
    fc.assert(
      fc.property(response, (given) => {
        const once = ['<think>', '</think>', '<answer>', '</answer>'].every(
          (tag) => given.split(tag).length === 2,
        );
        expect(hasStrictLayout(given)).toBe(once && strict.exec(given)?.index === 0);
        expect(hasLooseLayout(given)).toBe(once && loosely.test(given));
      }),
      { numRuns: 2000 },
    );
  });

  it('have one thought when each of its marks is there once, in order', () => {
    expect(hasOneThought('a <think>b</think> c')).toBe(true);
    const others = [
      '',
      '<think>',
      '</think><think>',
      '<think></think></think>',
      '<think><think></think>',
    ];
    expect(others.filter(hasOneThought)).toEqual([]);
  });

  it('are those of the whole response, also where a reasoning parser has cut it', () => {
    expect(wholeResponse({ response: '<answer>\n4\n</answer>', reasoning: 'Hm.' })).toSatisfy(
      hasStrictLayout,
    );
    expect(wholeResponse({ response: '4' })).toBe('4');
  });
});
