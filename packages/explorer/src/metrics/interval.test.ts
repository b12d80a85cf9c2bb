import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { meanInterval, studentQuantile } from './interval.js';

describe('meanInterval', () => {
  it("is Student's for numbers that are no rates", () => {
    // mean 2, standard deviation 2, n = 3: 2 +- 4.302653 * 2 / sqrt(3)
    const { low, high } = meanInterval([0, 2, 4])!;
    expect(low).toBeCloseTo(2 - (4.302653 * 2) / Math.sqrt(3), 5);
    expect(high).toBeCloseTo(2 + (4.302653 * 2) / Math.sqrt(3), 5);
  });

  it.each([
    [1, 12.7062],
    [2, 4.30265],
    [3, 3.18245],
    [10, 2.22814],
    [100, 1.98397],
  ])('knows the quantile of %s degrees of freedom', (freedom, quantile) => {
    expect(Math.abs(studentQuantile(freedom) / quantile - 1)).toBeLessThan(0.002);
  });

  it('does not believe that ten of ten is always', () => {
    const { low, high } = meanInterval(Array.from({ length: 10 }, () => 1))!;
    expect(low).toBeCloseTo(0.7224672, 6);
    expect(high).toBeCloseTo(1, 12);
  });

  it('is undefined for one task', () => {
    expect(meanInterval([1])).toBeUndefined();
  });

  it('holds the mean, stays among the rates, and narrows with the number of tasks', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 2, maxLength: 40 }),
        (quarters) => {
          const rates = quarters.map((quarter) => quarter / 4);
          const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
          const { low, high } = meanInterval(rates)!;
          expect(low).toBeGreaterThanOrEqual(0);
          expect(high).toBeLessThanOrEqual(1);
          expect(mean).toBeGreaterThanOrEqual(low - 1e-12);
          expect(mean).toBeLessThanOrEqual(high + 1e-12);
          const twice = meanInterval([...rates, ...rates])!;
          expect(twice.high - twice.low).toBeLessThan(high - low);
        },
      ),
    );
  });
});
