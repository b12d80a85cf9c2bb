import { expect, it } from 'vitest';
import { duration, signed } from './figures.js';

it.each([
  [0.25, '+0.250'],
  [-0.25, '\u22120.250'],
  [-0.0004, '+0.000'],
])('writes %s with its sign', (value, text) => {
  expect(signed(value)).toBe(text);
});

it('writes no 60 seconds', () => {
  expect([duration(59.6), duration(119.6), duration(3599.6)]).toEqual([
    '1 min 0 s',
    '2 min 0 s',
    '1 h 0 min',
  ]);
});
