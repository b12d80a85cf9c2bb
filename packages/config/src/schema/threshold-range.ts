/** Thresholds in verl's notation: a number, or two numbers joined by an underscore. */

export interface ThresholdRange {
  /** Lower bound. @default no lower bound */
  readonly lower?: number;
  readonly upper: number;
}

/**
 * Parses `2` or `0.5_2.0`. Returns undefined unless `text` consists of one or two finite numbers
 * with 0 < upper, and 0 ≤ lower < upper.
 */
export function readThreshold(text: string): ThresholdRange | undefined {
  const numbers = text.split('_').map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  const [first = Number.NaN, second] = numbers;
  const range = second === undefined ? { upper: first } : { lower: first, upper: second };
  const { lower = 0, upper } = range;
  return numbers.length <= 2 && upper < Infinity && 0 <= lower && lower < upper ? range : undefined;
}
