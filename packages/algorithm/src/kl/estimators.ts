/** Per-token estimates of the divergence from the reference policy, with their derivatives. */
import { boundLogRatio, ratioOf } from '../parts/policy-loss-part.js';
import type { TokenBlock } from '../parts/token-block.js';

/** Fills value, and its derivative by x, from a = f - x and d = x - o. */
export type KlEstimator = (
  block: Pick<TokenBlock, 'size' | 'a' | 'd' | 'value' | 'gradient'>,
) => void;

/** e^a - 1 - a. Beyond a = 20 its tangent, so that one token cannot overflow the batch. */
// expm1 keeps the digits that exp - 1 loses where the policies are close.
const k3Of = (a: number): number => (a > 20 ? Math.exp(20) * (a - 19) - 1 - a : Math.expm1(a) - a);

const k3Slope = (a: number, value: number): number => (a > 20 ? 1 - Math.exp(20) : -(value + a));

/**
 * k1, k2, k3 estimate KL(current || reference) on samples of the current policy.
 * @see http://joschu.net/blog/kl-approx.html
 */
export const klEstimators = {
  /** x - f: unbiased, high variance, may be negative. */
  k1: ({ size, a, value, gradient }) => {
    for (let i = 0; i < size; i++) {
      value[i] = -a[i]!;
      gradient[i] = 1;
    }
  },
  /** (x - f)^2 / 2 */
  k2: ({ size, a, value, gradient }) => {
    for (let i = 0; i < size; i++) {
      value[i] = (a[i]! * a[i]!) / 2;
      gradient[i] = -a[i]!;
    }
  },
  /** e^(f - x) - 1 - (f - x): unbiased, never negative. */
  k3: ({ size, a, value, gradient }) => {
    for (let i = 0; i < size; i++) {
      value[i] = k3Of(a[i]!);
      gradient[i] = k3Slope(a[i]!, value[i]!);
    }
  },
  /** k3 with f - x clamped to 20 and the value to 10 on either side: outside, nothing flows. */
  low_var_kl: ({ size, a, value, gradient }) => {
    for (let i = 0; i < size; i++) {
      const raw = k3Of(boundLogRatio(a[i]!));
      value[i] = Math.min(raw, 10);
      gradient[i] = raw <= 10 && a[i]! >= -20 ? k3Slope(a[i]!, raw) : 0;
    }
  },
  /** |x - f|; derivative 0 at 0. */
  abs: ({ size, a, value, gradient }) => {
    for (let i = 0; i < size; i++) {
      value[i] = Math.abs(a[i]!);
      gradient[i] = a[i]! > 0 ? -1 : a[i]! < 0 ? 1 : 0;
    }
  },
  /**
   * k3 times clip(e^(x - o), 0, 2): corrects for samples of the old policy. The gradient flows
   * through the factor too.
   */
  corrected_k3: ({ size, a, d, value, gradient }) => {
    for (let i = 0; i < size; i++) {
      const [ratio, raw] = [ratioOf(d[i]!), k3Of(a[i]!)];
      const slope = k3Slope(a[i]!, raw);
      value[i] = Math.min(ratio, 2) * raw;
      gradient[i] = ratio <= 2 ? ratio * ((d[i]! < -20 ? 0 : raw) + slope) : 2 * slope;
    }
  },
} satisfies Readonly<Record<string, KlEstimator>>;
