import { expect, it } from 'vitest';
import { keyCheck } from './key.js';

it.each([
  ['the key', 'secret', 'secret', true],
  ['another key', 'other', 'secret', false],
  ['no key', undefined, 'secret', false],
])('decides for a request with %s', (_, given, key, expected) => {
  const headers = given === undefined ? undefined : { authorization: `Bearer ${given}` };
  expect(keyCheck(key)(new Request('http://x', { headers }))).toBe(expected);
});

it('refuses an empty key, which no request could have', () => {
  expect(() => keyCheck('')).toThrow('The key of the server is empty');
});
