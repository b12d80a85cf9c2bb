import { expect, it } from 'vitest';
import { duration, figures, shortNumber } from './status.js';

it.each([
  [0, '0'],
  [-0.0123456, '-0.0123'],
  [1.5, '1.5'],
  [99.96, '100'],
  [812.345, '812'],
  [1234567, '1234567'],
  [1.23e9, '1.2e+9'],
  [1.23e-7, '1.2e-7'],
  [NaN, 'NaN'],
  [Infinity, 'Infinity'],
])('writes %d as %s', (value, text) => {
  expect(shortNumber(value)).toBe(text);
});

it.each([
  [-5, '0s'],
  [59.4, '59s'],
  [59.6, '1m 00s'],
  [200, '3m 20s'],
  [3599.6, '1h 00m'],
  [7500, '2h 05m'],
  [7199, '2h 00m'],
  [360000, '100h 00m'],
])('writes %d seconds as %s', (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});

it('claims no time left without a total, and none past it', () => {
  expect(figures({ step: 3, secondsPerStep: 2 })).toEqual([['step', '3']]);
  expect(figures({ step: 5, totalSteps: 5, secondsPerStep: 2 }).at(-1)).toEqual(['left', '0s']);
  expect(figures({ step: 7, totalSteps: 5, secondsPerStep: 2 })).toEqual([['step', '7']]);
});
