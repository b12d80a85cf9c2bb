import { expect, it } from 'vitest';
import { retryAfterMs } from './retry-after.js';

it.each([
  [undefined, 0],
  [null, 0],
  ['', 0],
  ['0', 0],
  ['-5', 0],
  ['1.5', 1500],
  ['soon', 0],
  ['Infinity', 0],
  ['Thu, 01 Jan 1970 00:00:30 GMT', 20_000],
  ['Thu, 01 Jan 1970 00:00:05 GMT', 0],
])('retry-after: %s asks for a pause of %i ms', (header, ms) => {
  expect(retryAfterMs(header, 10_000)).toBe(ms);
});
