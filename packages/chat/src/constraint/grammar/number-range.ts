/**
 * Grammar rules for numbers with bounds or a divisor. The rules compare the digits of a number with
 * those of the bounds, and track the remainder of the division.
 */
import { literal, type GrammarBuilder, type Sequence } from './grammar.js';
import { integer, number } from './json-value.js';

export interface NumberRange {
  readonly isInteger: boolean;
  /** True if the number must have a fractional part. */
  readonly isFraction: boolean;
  /** Lower bound; -Infinity if there is none. */
  readonly min: number;
  readonly max: number;
  readonly isMinExclusive: boolean;
  readonly isMaxExclusive: boolean;
  /** Divisor: the number must be a multiple of this integer. */
  readonly multipleOf?: number;
}

export function inRange(value: number, range: NumberRange): boolean {
  const { isInteger, isFraction, min, max, isMinExclusive, isMaxExclusive, multipleOf } = range;
  return (
    (!isInteger || Number.isInteger(value)) &&
    (!isFraction || !Number.isInteger(value)) &&
    (isMinExclusive ? value > min : value >= min) &&
    (isMaxExclusive ? value < max : value <= max) &&
    (multipleOf === undefined || value % multipleOf === 0)
  );
}

/**
 * Returns the rule for numbers in a range. Unless the range contains all numbers or all integers,
 * the rule only matches numbers without exponent, and with no more digits than a double can
 * represent.
 */
export function numberRule(grammar: GrammarBuilder, range: NumberRange): number {
  const { min, max, multipleOf, isInteger, isFraction } = range;
  if (min === -Infinity && max === Infinity && multipleOf === undefined && !isFraction)
    return isInteger ? integer(grammar) : number(grammar);
  const key = `range ${JSON.stringify([range, String(min), String(max)])}`;
  return grammar.once(key, () => {
    const above = magnitudes(grammar, {
      range,
      low: min < 0 ? undefined : bound(min, range.isMinExclusive),
      high: max < Infinity ? bound(max, range.isMaxExclusive) : undefined,
    });
    // Excludes 0 for integers, because they are not written as -0.
    const below = magnitudes(grammar, {
      range,
      low:
        max < 0
          ? bound(-max, range.isMaxExclusive)
          : bound(0, isInteger || (max === 0 && range.isMaxExclusive)),
      high: min > -Infinity ? bound(-min, range.isMinExclusive) : undefined,
    });
    return grammar.rule([
      ...(max >= 0 ? [[above]] : []),
      ...(min <= 0 ? [[...literal('-'), below]] : []),
    ]);
  });
}

/** Bound of a number's absolute value, in decimal digits. */
interface Bound {
  readonly whole: string;
  readonly fraction: string;
  readonly isExclusive: boolean;
}

function bound(value: number, isExclusive: boolean): Bound {
  const [mantissa = '', exponent = '0'] = String(value).split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const point = whole.length + Number(exponent);
  const digits = `${'0'.repeat(Math.max(-point, 0))}${whole}${fraction}`.padEnd(point, '0');
  const split = Math.max(point, 0);
  return {
    whole: digits.slice(0, split).replace(/^0+/, '') || '0',
    fraction: digits.slice(split),
    isExclusive,
  };
}

interface Limits {
  readonly range: NumberRange;
  readonly low: Bound | undefined;
  readonly high: Bound | undefined;
}

/** State of a partly written number. */
interface Written {
  readonly whole: number;
  /** Number of digits after the decimal point; -1 until the point is written. */
  readonly fraction: number;
  /** True if the number begins with 0, after which only the decimal point may follow. */
  readonly isZero: boolean;
  /**
   * Result of comparing the digits that are written so far with the same number of digits of the
   * bound: -1, 0 or 1. `low` is for the lower bound, `high` for the upper bound.
   */
  readonly low: number;
  readonly high: number;
  readonly remainder: number;
  /**
   * True if a digit after the point is not zero; always false unless the range has `isFraction`.
   */
  readonly hasFraction: boolean;
}

const allDigits = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

/** Returns the rule for numbers without a sign that are within the limits. */
function magnitudes(grammar: GrammarBuilder, limits: Limits): number {
  const { isInteger, multipleOf, isMinExclusive, isMaxExclusive } = limits.range;
  const isWhole = isInteger || multipleOf !== undefined;
  // With 16 digits, a number might be rounded to an exclusive bound, or to a number that is not a
  // multiple of `multipleOf`.
  const isSafe = isInteger && multipleOf === undefined && !isMinExclusive && !isMaxExclusive;
  const maxDigits = isSafe ? 16 : 15;
  const rules = new Map<string, number>();
  const open: [rule: number, state: Written][] = [];
  const ruleOf = (state: Written): number => {
    const key = Object.values(state).join(' ');
    const known = rules.get(key) ?? grammar.declare();
    if (!rules.has(key)) open.push([known, state]);
    rules.set(key, known);
    return known;
  };
  const start = {
    whole: 0,
    fraction: -1,
    isZero: false,
    low: 0,
    high: 0,
    remainder: 0,
    hasFraction: false,
  };
  const first = ruleOf(start);
  for (let top = open.pop(); top; top = open.pop()) {
    const [rule, state] = top;
    const steps = new Map<number, number[]>();
    const isFull = state.whole + Math.max(state.fraction, 0) >= maxDigits;
    if (!isFull && !(state.isZero && state.fraction < 0)) {
      for (const digit of allDigits) {
        const next = ruleOf(withDigit(state, digit, limits));
        steps.set(next, [...(steps.get(next) ?? []), 48 + digit, 48 + digit]);
      }
    }
    const ends: Sequence[] = isWithin(state, limits) ? [[]] : [];
    if (state.fraction < 0 && state.whole > 0 && !isWhole && !isFull)
      ends.push([...literal('.'), ruleOf(withPoint(state, limits))]);
    grammar.define(rule, [...ends, ...[...steps].map(([next, bytes]): Sequence => [bytes, next])]);
  }
  return first;
}

function withDigit(state: Written, digit: number, { low, high, range }: Limits): Written {
  const { whole, fraction } = state;
  const compare = (known: number, limit: Bound | undefined): number => {
    if (!limit) return 0;
    if (fraction < 0 && whole >= limit.whole.length) return 1;
    if (known !== 0) return known;
    const other = fraction < 0 ? limit.whole[whole] : (limit.fraction[fraction] ?? '0');
    return Math.sign(digit - Number(other));
  };
  return {
    whole: fraction < 0 ? whole + 1 : whole,
    fraction: fraction < 0 ? fraction : fraction + 1,
    isZero: fraction < 0 && whole === 0 && digit === 0,
    hasFraction: range.isFraction && (state.hasFraction || (fraction >= 0 && digit > 0)),
    low: compare(state.low, low),
    high: compare(state.high, high),
    remainder:
      range.multipleOf === undefined ? 0 : (state.remainder * 10 + digit) % range.multipleOf,
  };
}

/**
 * Returns the state after the decimal point is written. Both comparisons then include the number of
 * whole digits.
 */
function withPoint(state: Written, { low, high }: Limits): Written {
  return {
    ...state,
    fraction: 0,
    isZero: false,
    low: ofWhole(state, state.low, low),
    high: ofWhole(state, state.high, high),
  };
}

/**
 * Compares the whole part with that of a bound. Returns -1 if it has fewer digits than the bound,
 * otherwise `known`, the result of comparing digit by digit.
 */
const ofWhole = ({ whole, fraction }: Written, known: number, limit: Bound | undefined): number =>
  limit && fraction < 0 && whole < limit.whole.length ? -1 : known;

function isWithin(state: Written, { low, high, range }: Limits): boolean {
  if (range.isFraction && !state.hasFraction) return false;
  if (state.whole === 0 || state.fraction === 0 || state.remainder !== 0) return false;
  const compare = (known: number, limit: Bound): number => {
    const whole = ofWhole(state, known, limit);
    const isLess = /[1-9]/.test(limit.fraction.slice(Math.max(state.fraction, 0)));
    return whole === 0 && isLess ? -1 : whole;
  };
  const overLow = low ? compare(state.low, low) : 1;
  const underHigh = high ? compare(state.high, high) : -1;
  return (
    (low?.isExclusive ? overLow > 0 : overLow >= 0) &&
    (high?.isExclusive ? underHigh < 0 : underHigh <= 0)
  );
}
