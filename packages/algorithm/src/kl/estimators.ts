/** Per-token estimates of the divergence from the reference policy, with their derivatives. */

/** Log-probabilities of one token: by the weights being trained, by the reference, at sampling (undefined for supervised data). */
interface KlToken {
  readonly current: number;
  readonly reference: number;
  readonly old: number | undefined;
}

export interface KlEstimate {
  readonly value: number;
  /** d value / d current. */
  readonly gradient: number;
}

export type KlEstimator = (token: KlToken) => KlEstimate;

const clamp = (value: number, low: number, high: number): number => Math.min(Math.max(value, low), high);

/**
 * x = current, f = reference, o = old. k1, k2, k3 estimate KL(current || reference) on samples of the current policy.
 * @see http://joschu.net/blog/kl-approx.html
 */
export const klEstimators = {
  /** x - f: unbiased, high variance, may be negative. */
  k1: ({ current, reference }) => ({ value: current - reference, gradient: 1 }),
  /** (x - f)^2 / 2 */
  k2: ({ current, reference }) => ({ value: (current - reference) ** 2 / 2, gradient: current - reference }),
  /** e^(f - x) - 1 - (f - x): unbiased, never negative. */
  k3: ({ current, reference }) => k3(reference - current),
  /** k3 with f - x clamped to 20 and the value to 10 on either side: outside, nothing flows. */
  low_var_kl: ({ current, reference }) => {
    const difference = reference - current;
    const { value, gradient } = k3(clamp(difference, -20, 20));
    return { value: clamp(value, -10, 10), gradient: Math.abs(difference) <= 20 && value <= 10 ? gradient : 0 };
  },
  /** |x - f|; derivative 0 at 0. */
  abs: ({ current, reference }) => ({ value: Math.abs(current - reference), gradient: Math.sign(current - reference) }),
  /** k3 times clip(e^(x - o), 0, 2): corrects for samples of the old policy. The gradient flows through the factor too. */
  corrected_k3: ({ current, reference, old }) => {
    const { value, gradient } = k3(reference - current);
    if (old === undefined) return { value, gradient };
    const ratio = Math.exp(current - old);
    return ratio <= 2 ? { value: ratio * value, gradient: ratio * (value + gradient) } : { value: 2 * value, gradient: 2 * gradient };
  },
} satisfies Readonly<Record<string, KlEstimator>>;

function k3(difference: number): KlEstimate {
  // expm1 keeps the digits that exp - 1 loses where the policies are close.
  const grown = Math.expm1(difference);
  return { value: grown - difference, gradient: -grown };
}
