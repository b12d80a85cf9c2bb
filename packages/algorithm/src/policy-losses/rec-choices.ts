/**
 * Choices that the arguments of `rec` offer: tests that decide which tokens are trained on, and
 * weights of these tokens.
 */
import { boundedExp, clamp } from '../parts/numbers.js';
import type { TokenQuantities } from '../parts/token-loss.js';

/** Inclusive bounds of ratios; `temp` is the temperature of the weight `advantage`. */
export interface RecBounds {
  readonly low: number;
  readonly high: number;
  readonly outerLow: number;
  readonly outerHigh: number;
  readonly temp: number;
}

/**
 * Returns true if the token is within the range of ratios in which it is trained on. `ratio` is the
 * ratio of the row for `gspo-one-side`, and otherwise that of the token.
 */
type RangeTest = (ratio: number, advantage: number, bounds: RecBounds) => boolean;

const isInside: RangeTest = (r, _, { low, high }) => r >= low && r <= high;

const isNotPushedOut: RangeTest = (r, A, { low, high }) =>
  (A >= 0 && r <= high) || (A <= 0 && r >= low);

/**
 * Range tests by `clipMode`. A token with advantage 0 is in range if it would be with either sign.
 */
export const rangeTests = {
  none: () => true,
  'two-side': isInside,
  'one-side': isNotPushedOut,
  'gspo-one-side': isNotPushedOut,
  ring: (r, A, bounds) =>
    isInside(r, A, bounds) || (A >= 0 && r <= bounds.outerLow) || (A <= 0 && r >= bounds.outerHigh),
} satisfies Readonly<Record<string, RangeTest>>;

/** Factors of a token's advantage, by `weight`. */
export const tokenWeights = {
  none: () => 1,
  importance_sampling: ({ ratio }) => ratio,
  truncated_importance_sampling: ({ ratio }, { outerLow, outerHigh }) =>
    clamp(ratio, outerLow, outerHigh),
  gspo_importance_sampling: ({ row }) => row.meanRatio,
  advantage: ({ advantage }, { temp }) => boundedExp(advantage / temp),
} satisfies Readonly<Record<string, (token: TokenQuantities, bounds: RecBounds) => number>>;
