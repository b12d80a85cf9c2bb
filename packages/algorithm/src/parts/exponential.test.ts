import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exponentials } from './exponential.js';

const exp = (x: number, most?: number): number => {
  const into = new Float64Array(1);
  exponentials(Float64Array.of(x), 1, into, most);
  return into[0]!;
};

/** Distance in units of the last place of `wanted`. */
const ulps = (actual: number, wanted: number): number =>
  Math.abs(actual - wanted) / 2 ** (Math.floor(Math.log2(wanted)) - 52);

describe('exponentials', () => {
  it.each([1e-18, 1e-9, 1e-3, 0.1, 1, 20, 708])(
    'are those of Math to 2 units in the last place for x within %d',
    (range) => {
      fc.assert(
        fc.property(fc.double({ min: -range, max: range, noNaN: true }), (x) => {
          expect(ulps(exp(x), Math.exp(x))).toBeLessThanOrEqual(2);
        }),
        { numRuns: 5000 },
      );
    },
  );

  it('are exactly 1 at 0, and stay at the bound beyond it', () => {
    expect([exp(0), exp(-0)]).toEqual([1, 1]);
    expect([exp(21, 20), exp(-21, 20), exp(1e300), exp(-Infinity)]).toEqual([
      exp(20),
      exp(-20),
      exp(708),
      exp(-708),
    ]);
    expect(exp(708)).toBeLessThan(Infinity);
  });

  it('never fall where x rises', () => {
    fc.assert(
      fc.property(
        fc.double({ min: -20, max: 20, noNaN: true }),
        fc.double({ min: 0, max: 0.02, noNaN: true }),
        (x, step) => {
          expect(exp(x + step)).toBeGreaterThanOrEqual(exp(x) * (1 - 2 ** -51));
        },
      ),
    );
  });

  it('of what is not a number are not numbers', () => {
    expect(exp(NaN)).toBeNaN();
  });

  it('leave what lies behind the given size alone', () => {
    const into = Float64Array.of(7, 7, 7);
    exponentials(Float64Array.of(0, 0, 0), 2, into);
    expect([...into]).toEqual([1, 1, 7]);
  });
});
