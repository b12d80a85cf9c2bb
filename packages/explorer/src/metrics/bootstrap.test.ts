import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import vectors from '../../test/trinity-eval-metrics.json' with { type: 'json' };
import { createBootstrap, expectedBestOfDraws } from './bootstrap.js';
import { numpyChoice } from './mt19937.js';

describe('numpyChoice', () => {
  it('draws what numpy.random.seed(42); numpy.random.choice(10, 10) draws', () => {
    const draw = numpyChoice(42, 10);
    expect(Array.from({ length: 10 }, draw)).toEqual([6, 3, 7, 4, 6, 9, 2, 6, 7, 4]);
    expect(numpyChoice(42, 1)()).toBe(0);
  });
});

describe('the bootstrap', () => {
  const rows = vectors.cases.flatMap(({ values, exact_expectation: exact }) =>
    Object.entries(exact).map(([name, figure]) => ({
      values,
      best: name.includes('best'),
      n: Number(name.split('@')[1]),
      figure,
    })),
  );

  it.each(rows)(
    'estimates the expectation over draws with replacement: $values, $n, $figure',
    ({ values, best, n, figure }) => {
      const signed = best ? values : values.map((value) => -value);
      expect(expectedBestOfDraws(signed, n)).toBeCloseTo(best ? figure : -figure, 8);
    },
  );

  it('is within its error of that expectation, for any values', () => {
    const bootstrap = createBootstrap();
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 2, maxLength: 70 }),
        fc.integer({ min: 1, max: 16 }),
        (quarters, n) => {
          const values = quarters.map((quarter) => quarter / 4);
          const { best, worst } = bootstrap(values, n);
          // Five standard errors of a mean of 1000 values in [0, 1].
          const error = (5 * 0.5) / Math.sqrt(1000);
          expect(Math.abs(best - expectedBestOfDraws(values, n))).toBeLessThan(error);
          expect(
            Math.abs(
              worst +
                expectedBestOfDraws(
                  values.map((value) => -value),
                  n,
                ),
            ),
          ).toBeLessThan(error);
        },
      ),
      { numRuns: 50 },
    );
  });
});
