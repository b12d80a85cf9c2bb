import { expect, it } from 'vitest';
import { secondsText } from '../page/numbers.js';

it.each([
  [0.0456, '0.046 s'],
  [59.4, '59 s'],
  [59.6, '1 min 0 s'],
  [119.6, '2 min 0 s'],
  [125, '2 min 5 s'],
  [3725, '1 h 2 min'],
])('writes %s seconds as %s', (seconds, text) => {
  expect(secondsText(seconds)).toBe(text);
});
