/** e^x of many numbers. */

/** Between two powers of 2; fractions[j] = 2^(j / 64). */
const steps = 64;
const fractions = Float64Array.from({ length: steps }, (_, j) => 2 ** (j / steps));

/** powers[m + 1023] = 2^m, all that are normal. */
const powers = Float64Array.from({ length: 2047 }, (_, m) => 2 ** (m - 1023));

/**
 * ln(2) / 64 in two parts, the first so short that its products with whole numbers below 2^20 are
 * exact.
 */
const [high, low] = [6.9314718036912381649e-1 / steps, 1.90821492927058770002e-10 / steps];

/** Adding and subtracting it rounds to a whole number. */
const rounder = 1.5 * 2 ** 52;

/**
 * e^x, x within `most`, to 2 units in the last place; e^0 is exactly 1. With k the nearest whole
 * number to 64 x / ln 2, it is 2^(k / 64) e^q, q = x - k ln(2) / 64, |q| < 0.0055, whose series
 * needs five terms.
 *
 * Math.exp is as quick where all x are near 0, takes three times as long where they are not, and as
 * a call it spills what loops keep in registers (`pnpm bench algorithm`).
 * @param into may be `x`
 * @param most at most 708, where e^-x is the least number with all its digits
 */
export function exponentials(x: Float64Array, size: number, into: Float64Array, most = 708): void {
  for (let i = 0; i < size; i++) {
    const given = x[i]!;
    const v = given > most ? most : given < -most ? -most : given;
    const nearest = v * (steps / Math.LN2) + rounder - rounder;
    const k = nearest | 0;
    const q = v - nearest * high - nearest * low;
    const series = q + q * q * (1 / 2 + q * (1 / 6 + q * (1 / 24 + q * (1 / 120))));
    const fraction = fractions[k & 63]!;
    into[i] = (fraction + fraction * series) * powers[(k >> 6) + 1023]!;
  }
}
