/** Per-token estimates of the divergence from the reference policy, with their derivatives. */
import { clamp, largestLogRatio, ratioOf } from '../policy-loss/define.js';

/**
 * With x, f, o the log-probabilities of a token by the weights being trained, by the reference and at sampling:
 * a = f - x, d = x - o. Estimates without importance ratio ignore d.
 */
export interface KlEstimator {
  value(a: number, d: number): number;
  /** Derivative by x. `value` is that of the same token. */
  gradient(a: number, d: number, value: number): number;
}

const grownMost = Math.exp(largestLogRatio);

/** e^a - 1 - a. Beyond a = 20 its tangent, so that one token cannot overflow the batch. */
const k3: KlEstimator = {
  // expm1 keeps the digits that exp - 1 loses where the policies are close.
  value: (a) => (a > largestLogRatio ? grownMost * (1 + a - largestLogRatio) - 1 - a : Math.expm1(a) - a),
  gradient: (a, _d, value) => (a > largestLogRatio ? 1 - grownMost : -(value + a)),
};

/**
 * k1, k2, k3 estimate KL(current || reference) on samples of the current policy.
 * @see http://joschu.net/blog/kl-approx.html
 */
export const klEstimators = {
  /** x - f: unbiased, high variance, may be negative. */
  k1: { value: (a) => -a, gradient: () => 1 },
  /** (x - f)^2 / 2 */
  k2: { value: (a) => (a * a) / 2, gradient: (a) => -a },
  /** e^(f - x) - 1 - (f - x): unbiased, never negative. */
  k3,
  /** k3 with f - x clamped to 20 and the value to 10 on either side: outside, nothing flows. */
  low_var_kl: {
    value: (a) => Math.min(k3.value(clamp(a, -largestLogRatio, largestLogRatio), 0), 10),
    gradient: (a, _d, value) => (Math.abs(a) <= largestLogRatio && value < 10 ? -(value + a) : 0),
  },
  /** |x - f|; derivative 0 at 0. */
  abs: { value: (a) => Math.abs(a), gradient: (a) => (a === 0 ? 0 : -Math.sign(a)) },
  /** k3 times clip(e^(x - o), 0, 2): corrects for samples of the old policy. The gradient flows through the factor too. */
  corrected_k3: {
    value: (a, d) => Math.min(ratioOf(d), 2) * k3.value(a, d),
    gradient: (a, d, value) => {
      const ratio = ratioOf(d);
      return ratio <= 2 ? value + ratio * k3.gradient(a, d, value / ratio) : 2 * k3.gradient(a, d, value / 2);
    },
  },
} satisfies Readonly<Record<string, KlEstimator>>;
