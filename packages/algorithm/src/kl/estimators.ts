/** Estimates of the per-token divergence from the reference policy, with their derivatives. */
import { clampLogRatio } from '../parts/numbers.js';
import type { TokenQuantities, TokenResult } from '../parts/token-loss.js';

/**
 * Writes the estimate and its derivative with respect to x to `out`. Inputs are a = f - x, where f
 * is the log-probability under the reference and x under the current weights, and the ratio r =
 * e^(x - o), where o is the log-probability at sampling.
 */
export type KlEstimator = (
  token: Pick<TokenQuantities, 'refLogRatio' | 'ratio' | 'ratioSlope'>,
  out: Pick<TokenResult, 'loss' | 'gradient'>,
) => void;

/**
 * Returns k3 = e^a - 1 - a. For a > 20, returns the tangent at 20 instead, so that no single token
 * makes the sum of the batch overflow.
 */
// expm1 is precise where the policies are close. exp - 1 would lose digits.
const k3Of = (a: number): number => (a > 20 ? Math.exp(20) * (a - 19) - 1 - a : Math.expm1(a) - a);

/** Returns the derivative of k3 with respect to x. */
const k3Slope = (a: number, k3: number): number => (a > 20 ? 1 - Math.exp(20) : -(k3 + a));

/**
 * k1, k2 and k3 estimate KL(current || reference) from samples of the current policy.
 * @see http://joschu.net/blog/kl-approx.html
 */
export const klEstimators = {
  /** x - f. Unbiased, but with a high variance, and may be negative. */
  k1: ({ refLogRatio: a }, out) => {
    out.loss = -a;
    out.gradient = 1;
  },
  /** (x - f)^2 / 2 */
  k2: ({ refLogRatio: a }, out) => {
    out.loss = (a * a) / 2;
    out.gradient = -a;
  },
  /** e^(f - x) - 1 - (f - x). Unbiased and never negative. */
  k3: ({ refLogRatio: a }, out) => {
    out.loss = k3Of(a);
    out.gradient = k3Slope(a, out.loss);
  },
  /**
   * k3 with f - x clamped to ±20 and the value limited to 10. The gradient is 0 where either limit
   * applies.
   */
  low_var_kl: ({ refLogRatio: a }, out) => {
    const k3 = k3Of(clampLogRatio(a));
    out.loss = Math.min(k3, 10);
    out.gradient = k3 <= 10 && a >= -20 ? k3Slope(a, k3) : 0;
  },
  /** |x - f|; derivative 0 at 0. */
  abs: ({ refLogRatio: a }, out) => {
    out.loss = Math.abs(a);
    out.gradient = -Math.sign(a);
  },
  /**
   * min(r, 2) k3. The factor min(r, 2) corrects for tokens that an older policy sampled. If r is
   * always 1, this equals k3. The gradient includes the gradient of the factor.
   */
  corrected_k3: ({ refLogRatio: a, ratio: r, ratioSlope }, out) => {
    const k3 = k3Of(a);
    out.loss = Math.min(r, 2) * k3;
    out.gradient = Math.min(r, 2) * k3Slope(a, k3) + (r <= 2 ? ratioSlope * k3 : 0);
  },
} satisfies Readonly<Record<string, KlEstimator>>;
