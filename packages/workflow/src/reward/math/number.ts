/** Numbers with known precision: exact fractions, and floats with an error bound. */

/**
 * A fraction `numerator / denominator` with denominator > 0. The fraction is not reduced, because
 * comparisons multiply crosswise and do not need the gcd.
 */
export interface Exact {
  readonly kind: 'exact';
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/**
 * A float and its error bound: to first order, the true value differs by at most `error`. Both are
 * finite.
 */
export interface Approximate {
  readonly kind: 'approximate';
  readonly value: number;
  readonly error: number;
}

export type Num = Exact | Approximate;

/**
 * A number; undefined if there is no value, or computing it would cost too much, as for 1/0, the
 * root of -1, and 9^9^9^9.
 */
export type MaybeNum = Num | undefined;

/**
 * Maximum number of bits of a fraction. Larger fractions become floats, which limits the cost of
 * one operation.
 */
const maxBits = 4096;
/** Number of decimal digits that fit in `maxBits` bits. */
const maxDigits = 1233;
const limit = 1n << BigInt(maxBits);
/** Maximum relative error that two roundings of a float cause together. */
const epsilon = 2 ** -51;

export const exact = (numerator: bigint, denominator = 1n): Exact => ({
  kind: 'exact',
  numerator,
  denominator,
});

/**
 * Creates a float with its error bound. Returns undefined if the value or the bound is not finite.
 */
export function approximate(value: number, error: number): MaybeNum {
  const total = error + Math.abs(value) * epsilon;
  return Number.isFinite(value) && Number.isFinite(total)
    ? { kind: 'approximate', value, error: total }
    : undefined;
}

/**
 * Parses a number.
 * @param digits number without sign, such as `12`, `1.5`, `.5`, `1.5e-3` or `0.1\overline{6}`
 */
export function parseNumber(digits: string): MaybeNum {
  const match = /^(\d*)(?:\.(\d*)(?:\\overline\{(\d+)\})?)?(?:[eE]([+-]?\d{1,4}))?$/.exec(digits);
  if (match === null) return undefined;
  const [, whole = '', fraction = '', repeated = '', exponent = '0'] = match;
  if (
    whole + fraction + repeated === '' ||
    whole.length + fraction.length + repeated.length > maxDigits
  )
    return undefined;
  const scale = 10n ** BigInt(fraction.length);
  const plain = exact(BigInt(whole + fraction || '0'), scale);
  // 0.1(6) = 0.1 + 6 / (10 * 9)
  const period =
    repeated === ''
      ? plain
      : add(plain, exact(BigInt(repeated), scale * (10n ** BigInt(repeated.length) - 1n)));
  return multiply(period, power(exact(10n), exact(BigInt(exponent))));
}

/** Converts a number to the nearest float, with an error bound. */
export function toApproximate(number: MaybeNum): Approximate | undefined {
  if (number?.kind !== 'exact') return number;
  const value = toFloat(number);
  // A number that is too small for a float is not zero.
  if (value === 0 && number.numerator !== 0n) return undefined;
  return approximate(value, 0) as Approximate | undefined;
}

function toFloat({ numerator, denominator }: Exact): number {
  const magnitude = numerator < 0n ? -numerator : numerator;
  if (magnitude === 0n) return 0;
  // The shift gives the quotient about 64 bits, whatever the sizes.
  const shift = bitLength(denominator) - bitLength(magnitude) + 64;
  const quotient =
    shift >= 0
      ? (magnitude << BigInt(shift)) / denominator
      : magnitude / (denominator << BigInt(-shift));
  const value = Number(quotient) * 2 ** -shift;
  return numerator < 0n ? -value : value;
}

const bitLength = (value: bigint): number => value.toString(16).length * 4;

/** Returns a fraction as an exact number if it has few enough bits, otherwise as a float. */
function bounded(numerator: bigint, denominator: bigint): MaybeNum {
  if (denominator === 0n) return undefined;
  const number = denominator < 0n ? exact(-numerator, -denominator) : exact(numerator, denominator);
  const fits = number.denominator < limit && number.numerator < limit && number.numerator > -limit;
  return fits ? number : toApproximate(number);
}

type Operation = (a: MaybeNum, b: MaybeNum) => MaybeNum;

/**
 * Creates an operation from two implementations: one for exact fractions, one for floats with error
 * bounds, which is used if an operand is a float.
 */
function operation(
  onExact: (a: Exact, b: Exact) => MaybeNum,
  onFloats: (a: Approximate, b: Approximate) => MaybeNum,
): Operation {
  return (a, b) => {
    if (a?.kind === 'exact' && b?.kind === 'exact') return onExact(a, b);
    const left = toApproximate(a);
    const right = toApproximate(b);
    return left && right && onFloats(left, right);
  };
}

export const add = operation(
  (a, b) =>
    a.denominator === b.denominator
      ? bounded(a.numerator + b.numerator, a.denominator)
      : bounded(
          a.numerator * b.denominator + b.numerator * a.denominator,
          a.denominator * b.denominator,
        ),
  (a, b) => approximate(a.value + b.value, a.error + b.error),
);

export const multiply = operation(
  (a, b) => bounded(a.numerator * b.numerator, a.denominator * b.denominator),
  (a, b) => {
    const value = a.value * b.value;
    if (value === 0 && a.value !== 0 && b.value !== 0) return undefined;
    return approximate(
      value,
      Math.abs(a.value) * b.error + Math.abs(b.value) * a.error + a.error * b.error,
    );
  },
);

export const divide = operation(
  (a, b) => bounded(a.numerator * b.denominator, a.denominator * b.numerator),
  (a, b) => {
    const sure = Math.abs(b.value) - b.error;
    // The divisor may be zero.
    if (sure <= 0) return undefined;
    const value = a.value / b.value;
    if (value === 0 && a.value !== 0) return undefined;
    return approximate(value, (a.error + Math.abs(value) * b.error) / sure);
  },
);

export function negate(a: MaybeNum): MaybeNum {
  if (a?.kind === 'exact') return exact(-a.numerator, a.denominator);
  return a && approximate(-a.value, a.error);
}

/**
 * Computes `base ^ exponent`. The result is exact for an integer exponent if it is small enough,
 * and for an exponent of 1/2 if the base is a square. Otherwise it is a float.
 */
export function power(base: MaybeNum, exponent: MaybeNum): MaybeNum {
  if (base?.kind === 'exact' && exponent?.kind === 'exact') {
    const whole = asInteger(exponent);
    if (whole !== undefined) return integerPower(base, whole);
    if (exponent.numerator * 2n === exponent.denominator) return squareRoot(base);
  }
  return floatPower(toApproximate(base), toApproximate(exponent));
}

function integerPower(base: Exact, exponent: number): MaybeNum {
  const size =
    Math.max(bitLength(base.numerator), bitLength(base.denominator)) * Math.abs(exponent);
  if (size > maxBits)
    return floatPower(toApproximate(base), approximate(exponent, 0) as Approximate);
  const count = BigInt(Math.abs(exponent));
  const raised: readonly [bigint, bigint] = [base.numerator ** count, base.denominator ** count];
  return exponent < 0 ? bounded(raised[1], raised[0]) : bounded(raised[0], raised[1]);
}

function floatPower(base: Approximate | undefined, exponent: Approximate | undefined): MaybeNum {
  if (!base || !exponent) return undefined;
  const isWhole =
    exponent.error <= Math.abs(exponent.value) * epsilon && Number.isInteger(exponent.value);
  if (Math.abs(base.value) <= base.error || (base.value < 0 && !isWhole)) return undefined;
  const value = base.value ** exponent.value;
  if (value === 0) return undefined;
  const relative =
    Math.abs(exponent.value) * (base.error / Math.abs(base.value)) +
    Math.abs(Math.log(Math.abs(base.value))) * (isWhole ? 0 : exponent.error);
  return approximate(value, Math.abs(value) * (relative + 4 * epsilon));
}

/** Computes the square root of a number. Returns undefined for negative numbers. */
export function squareRoot(a: MaybeNum): MaybeNum {
  if (a?.kind === 'exact') {
    const root = exactRoot(a);
    if (root) return root;
  }
  const radicand = toApproximate(a);
  if (!radicand || radicand.value <= radicand.error) return undefined;
  const value = Math.sqrt(radicand.value);
  return approximate(value, radicand.error / value);
}

/** Computes the real root of a number. A negative number has one if `index` is an odd integer. */
export function nthRoot(a: MaybeNum, index: MaybeNum): MaybeNum {
  const whole = index?.kind === 'exact' ? asInteger(index) : undefined;
  const isOdd = whole !== undefined && whole % 2 !== 0;
  const isNegative = a !== undefined && (a.kind === 'exact' ? a.numerator < 0n : a.value < 0);
  return isOdd && isNegative
    ? negate(nthRoot(negate(a), index))
    : power(a, divide(exact(1n), index));
}

/**
 * Returns the square root of a fraction, if it is a fraction too. Since n/d = n*d / d^2, only n*d
 * must be a square, so no gcd is needed.
 */
function exactRoot({ numerator, denominator }: Exact): Exact | undefined {
  if (numerator < 0n) return undefined;
  const square = numerator * denominator;
  if (square >= 1n << 104n) return undefined;
  const root = BigInt(Math.round(Math.sqrt(Number(square))));
  return root * root === square ? exact(root, denominator) : undefined;
}

/** Converts a fraction to a JavaScript number. Returns undefined unless it is a safe integer. */
function asInteger({ numerator, denominator }: Exact): number | undefined {
  if (numerator % denominator !== 0n) return undefined;
  const whole = Number(numerator / denominator);
  return Number.isSafeInteger(whole) ? whole : undefined;
}

/** Returns true if the decimal expansion of the fraction is finite. */
export function isFiniteDecimal({ numerator, denominator }: Exact): boolean {
  // The expansion is finite if d divides n times a power of ten. No denominator has more than
  // maxBits factors of 2 or 5.
  return (
    (numerator * 10n ** BigInt(Math.min(maxBits, bitLength(denominator)))) % denominator === 0n
  );
}

/**
 * Compares two numbers. Fractions are compared exactly. Floats are equal if their difference is
 * within their error bounds, and these bounds are small.
 */
export function sameNumber(a: Num, b: Num): boolean {
  if (a.kind === 'exact' && b.kind === 'exact')
    return a.numerator * b.denominator === b.numerator * a.denominator;
  const left = toApproximate(a);
  const right = toApproximate(b);
  if (!left || !right) return false;
  const error = 4 * (left.error + right.error);
  const scale = Math.max(Math.abs(left.value), Math.abs(right.value));
  return Math.abs(left.value - right.value) <= error && (error <= scale * 1e-6 || error <= 1e-12);
}
