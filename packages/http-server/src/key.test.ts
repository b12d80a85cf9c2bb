import { expect, it } from 'vitest';
import { hasKey } from './key.js';

it.each([
  ['the key', 'secret', 'secret', true],
  ['another key', 'other', 'secret', false],
  ['no key', undefined, 'secret', false],
  ['no key, though none was chosen', undefined, '', false],
])('decides for a request with %s', (_, given, key, expected) => {
  const headers = given === undefined ? undefined : { authorization: `Bearer ${given}` };
  expect(hasKey(new Request('http://x', { headers }), key)).toBe(expected);
});
