import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  add,
  divide,
  exact,
  isFiniteDecimal,
  multiply,
  negate,
  parseNumber,
  power,
  sameNumber,
  squareRoot,
  toApproximate,
  type MaybeNum,
} from './number.js';

const fraction = fc
  .tuple(
    fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }),
    fc.bigInt({ min: 1n, max: 10n ** 12n }),
  )
  .map(([numerator, denominator]) => exact(numerator, denominator));
const whole = fc.bigInt({ min: 2n, max: 10n ** 9n }).map((value) => exact(value));

const same = (a: MaybeNum, b: MaybeNum): boolean =>
  a !== undefined && b !== undefined && sameNumber(a, b);

describe('fractions', () => {
  it('obey the laws of arithmetic exactly', () => {
    fc.assert(
      fc.property(fraction, fraction, fraction, (a, b, c) => {
        expect(same(multiply(a, add(b, c)), add(multiply(a, b), multiply(a, c)))).toBe(true);
        expect(same(add(add(a, b), negate(b)), a)).toBe(true);
        expect(same(add(a, exact(1n, 10n ** 40n)), a)).toBe(false);
      }),
    );
  });

  it('know whether they end as decimals', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 999 }), fc.integer({ min: 1, max: 999 }), (a, b) => {
        let rest = b;
        for (const prime of [2, 5]) while (rest % prime === 0) rest /= prime;
        expect(isFiniteDecimal(exact(BigInt(a), BigInt(b)))).toBe(a % rest === 0);
      }),
    );
  });

  it('are read from decimals, exponents and periods', () => {
    expect(parseNumber('1.25e-2')).toBeDefined();
    expect(same(parseNumber('1.25e-2'), exact(1n, 80n))).toBe(true);
    expect(same(parseNumber('0.\\overline{142857}'), exact(1n, 7n))).toBe(true);
    expect(same(parseNumber('0.1\\overline{6}'), exact(1n, 6n))).toBe(true);
    expect(parseNumber('')).toBeUndefined();
    expect(parseNumber('9'.repeat(2_000))).toBeUndefined();
  });
});

describe('floats', () => {
  it('stay within their error', () => {
    fc.assert(
      fc.property(whole, whole, (a, b) => {
        const [x, y] = [squareRoot(a), squareRoot(b)];
        expect(same(multiply(x, x), a)).toBe(true);
        expect(same(multiply(x, y), squareRoot(multiply(a, b)))).toBe(true);
      }),
    );
  });

  it('stay within it where most of the digits cancel', () => {
    const modest = fc.bigInt({ min: 2n, max: 10n ** 6n }).map((value) => exact(value));
    fc.assert(
      fc.property(modest, modest, (a, b) => {
        fc.pre(a.numerator !== b.numerator);
        const [x, y] = [squareRoot(a), squareRoot(b)];
        expect(same(multiply(add(x, y), add(x, negate(y))), add(a, negate(b)))).toBe(true);
      }),
    );
  });

  it('tell apart what differs by more than their error', () => {
    fc.assert(
      fc.property(whole, (a) => {
        const root = squareRoot(add(a, exact(1n, 3n)));
        expect(same(root, multiply(root, exact(10n ** 10n + 1n, 10n ** 10n)))).toBe(false);
      }),
    );
  });

  it('are none where there is no value or it does not fit', () => {
    expect(divide(exact(1n), exact(0n))).toBeUndefined();
    expect(squareRoot(exact(-1n))).toBeUndefined();
    expect(power(exact(10n), exact(100_000n))).toBeUndefined();
    expect(power(exact(10n), exact(-100_000n))).toBeUndefined();
    expect(power(exact(0n), exact(-1n))).toBeUndefined();
    expect(toApproximate(exact(1n, 10n ** 400n))).toBeUndefined();
  });
});
