import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { logarithms } from './logarithm.js';

const log = (x: number): number => {
  const values = Float64Array.of(x);
  logarithms(values, 1, values);
  return values[0]!;
};

describe('logarithms', () => {
  it.each([
    [0.5, 2],
    [1e-9, 1e9],
    [2 ** -1022, Number.MAX_VALUE],
  ])('are those of Math from %d to %d', (min, max) => {
    fc.assert(
      fc.property(fc.double({ min, max, noNaN: true }), (x) => {
        expect(Math.abs(log(x) - Math.log(x))).toBeLessThanOrEqual(
          5e-16 * Math.max(1, Math.abs(Math.log(x))),
        );
      }),
      { numRuns: 5000 },
    );
  });

  it('keep their digits next to 1, where they are exactly 0', () => {
    fc.assert(
      fc.property(fc.double({ min: -1e-3, max: 1e-3, noNaN: true }), (d) => {
        expect(Math.abs(log(1 + d) - Math.log(1 + d))).toBeLessThanOrEqual(
          5e-16 * Math.abs(Math.log(1 + d)),
        );
      }),
    );
    expect(log(1)).toBe(0);
  });

  it('of a part of an array look at that part', () => {
    const values = Float64Array.of(9, 1, 1, 9);
    logarithms(values.subarray(1), 2, values.subarray(1));
    expect([...values]).toEqual([9, 0, 0, 9]);
  });
});
