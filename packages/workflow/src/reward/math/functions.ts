/** Functions of numbers besides arithmetic: absolute value, rounding, factorial. */
import { approximate, exact, negate, toApproximate, type MaybeNum } from './number.js';

export function absolute(a: MaybeNum): MaybeNum {
  if (a?.kind === 'exact') return a.numerator < 0n ? negate(a) : a;
  return a && approximate(Math.abs(a.value), a.error);
}

/**
 * Rounds down. Returns undefined for a float if an integer lies within its error bound, because the
 * result is then uncertain.
 */
export function floor(a: MaybeNum): MaybeNum {
  if (a?.kind === 'exact') {
    const { numerator, denominator } = a;
    const rest = ((numerator % denominator) + denominator) % denominator;
    return exact((numerator - rest) / denominator);
  }
  if (!a || Math.floor(a.value - a.error) !== Math.floor(a.value + a.error)) return undefined;
  return exact(BigInt(Math.floor(a.value)));
}

export const ceil = (a: MaybeNum): MaybeNum => negateOf(floor(negateOf(a)));

const negateOf = (a: MaybeNum): MaybeNum => a && negate(a);

/** Largest argument for which the factorial is computed exactly. */
const largestFactorial = 500n;

/**
 * Computes the factorial. The result is exact for integers up to 500, and the gamma function of a +
 * 1 for other numbers above -1.
 */
export function factorial(a: MaybeNum): MaybeNum {
  if (a?.kind === 'exact' && a.numerator % a.denominator === 0n) {
    const n = a.numerator / a.denominator;
    if (n < 0n || n > largestFactorial) return undefined;
    return exact(wholeFactorial(Number(n)));
  }
  const x = toApproximate(a);
  if (!x || x.value <= -1 || x.value > 170) return undefined;
  const value = gamma(x.value + 1);
  return approximate(
    value,
    Math.abs(value) * (1e-12 + (Math.log(x.value + 2) + 1 / (x.value + 1)) * x.error),
  );
}

/**
 * Factorials computed so far, by argument. Without this cache, a hostile answer that repeats one
 * factorial many times would take long.
 */
const factorials: bigint[] = [1n];

function wholeFactorial(n: number): bigint {
  while (factorials.length <= n) factorials.push(factorials.at(-1)! * BigInt(factorials.length));
  return factorials[n]!;
}

const lanczos = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
  -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
  1.5056327351493116e-7,
] as const;

/**
 * Computes the gamma function for x > 0, accurate to about 1e-14. Source: Lanczos 1964,
 * doi:10.1137/0701008, g = 7 with nine terms.
 */
function gamma(x: number): number {
  const z = x - 1;
  const sum = lanczos.reduce(
    (total, term, index) => (index === 0 ? term : total + term / (z + index)),
    0,
  );
  const base = z + 7.5;
  return Math.sqrt(2 * Math.PI) * base ** (z + 0.5) * Math.exp(-base) * sum;
}
