import { expect, it } from 'vitest';
import { cutAtStop } from './stop-strings.js';

const bytes = ['a', 'b', 'END', 'E', 'ND!'].map((text) => new TextEncoder().encode(text));
const sample = (...tokens: readonly number[]) => ({
  tokens: Int32Array.from(tokens),
  logprobs: Float32Array.from(tokens, (token) => -token),
  stopReason: 'length' as const,
});

it('ends a sample with the token that completes a stop text', () => {
  expect(cutAtStop(sample(0, 3, 4, 1), ['END', 'zz'], bytes)).toEqual({
    tokens: Int32Array.of(0, 3, 4),
    logprobs: Float32Array.of(-0, -3, -4),
    stopReason: 'stop',
    stopString: 'END',
  });
  expect(cutAtStop(sample(0, 1), ['END'], bytes)).toEqual(sample(0, 1));
  expect(cutAtStop(sample(0, 2), [], bytes)).toEqual(sample(0, 2));
});

it('names the stop text that ends first, in whatever order they are given', () => {
  for (const stops of [
    ['ND!', 'END'],
    ['END', 'ND!'],
  ])
    expect(cutAtStop(sample(0, 3, 4), stops, bytes).stopString).toBe('END');
});
