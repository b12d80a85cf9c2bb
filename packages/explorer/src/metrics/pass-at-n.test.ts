import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectedBest, expectedWorst } from './pass-at-n.js';

describe('expectedBest', () => {
  it('is pass@n for successes and failures', () => {
    // 1 - C(2, 2) / C(4, 2) with two successes among four.
    expect(expectedBest([0, 1, 0, 1], 2)).toBeCloseTo(1 - 1 / 6, 12);
    expect(expectedBest([0, 1, 0, 1], 3)).toBeCloseTo(1, 12);
  });

  it('equals the mean over all subsets', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 1, maxLength: 7 }),
        fc.integer({ min: 1, max: 7 }),
        (values, wanted) => {
          const n = Math.min(wanted, values.length);
          const subsets = Array.from({ length: 2 ** values.length }, (_, bits) =>
            values.filter((_value, i) => (bits >> i) & 1),
          ).filter((subset) => subset.length === n);
          const average =
            subsets.reduce((sum, subset) => sum + Math.max(...subset), 0) / subsets.length;
          expect(expectedBest(values, n)).toBeCloseTo(average, 9);
        },
      ),
    );
  });
});

describe('expectedWorst', () => {
  it('is pass^n for successes and failures', () => {
    // C(3, 2) / C(4, 2)
    expect(expectedWorst([1, 1, 0, 1], 2)).toBeCloseTo(0.5, 12);
    expect(expectedWorst([1, 1, 0, 1], 4)).toBe(0);
  });
});

describe('pass@n and pass^n', () => {
  const values = fc.array(fc.integer({ min: 0, max: 1 }), { minLength: 2, maxLength: 60 });

  it('fall apart from the mean as n grows', () => {
    fc.assert(
      fc.property(values, (given) => {
        const ns = given.map((_, index) => index + 1);
        const [best, worst] = [
          ns.map((n) => expectedBest(given, n)),
          ns.map((n) => expectedWorst(given, n)),
        ];
        for (const n of ns.slice(1)) {
          expect(best[n - 1]!).toBeGreaterThanOrEqual(best[n - 2]! - 1e-12);
          expect(worst[n - 1]!).toBeLessThanOrEqual(worst[n - 2]! + 1e-12);
        }
        expect(best[0]).toBeCloseTo(worst[0]!, 12);
        expect([best.at(-1), worst.at(-1)]).toEqual([Math.max(...given), Math.min(...given)]);
      }),
    );
  });

  it('hold for ten thousand runs, where binomials overflow', () => {
    const given = Array.from({ length: 10_000 }, (_, index) => (index < 10 ? 1 : 0));
    // 1 - C(9990, 5000) / C(10000, 5000), close to 1 - 2^-10.
    expect(expectedBest(given, 5_000)).toBeCloseTo(1 - 2 ** -10, 4);
    expect(expectedWorst(given, 11)).toBe(0);
  });
});
