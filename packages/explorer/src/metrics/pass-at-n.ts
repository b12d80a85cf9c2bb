/** Exact expectations of the best and the worst of n out of k rollouts. */

/**
 * Returns the expected largest of n draws without replacement from k values. It is the sum over
 * sorted v_(i) of v_(i) C(i-1, n-1) / C(k, n). For 0/1 values with c ones it is pass@n = 1 - C(k-c,
 * n) / C(k, n), the chance that at least one of n attempts succeeds. The weights are products of
 * ratios below 1, so nothing overflows. Requires 1 <= n <= k. Source: Chen et al.,
 * arXiv:2107.03374.
 */
export function expectedBest(values: readonly number[], n: number): number {
  const falling = values.toSorted((a, b) => b - a);
  const k = falling.length;
  // Weight of the i-th smallest, C(i-1, n-1) / C(k, n): n/k for i = k, then times (i-n)/(i-1) for
  // each step down. It is 0 below i = n.
  let weight = n / k;
  let sum = 0;
  for (const [place, value] of falling.entries()) {
    const i = k - place;
    if (i < n) break;
    sum += value * weight;
    if (i > 1) weight *= (i - n) / (i - 1);
  }
  return sum;
}

/**
 * Returns the expected smallest of n draws without replacement. For 0/1 values with c ones it is
 * pass^n = C(c, n) / C(k, n), the chance that all of n attempts succeed. Source: tau-bench,
 * arXiv:2406.12045.
 */
export function expectedWorst(values: readonly number[], n: number): number {
  return 0 - expectedBest(negated(values), n);
}

/**
 * Returns the expected largest of n draws with replacement from k values. It is the sum over sorted
 * v_(i) of v_(i) ((i/k)^n - ((i-1)/k)^n), which Trinity-RFT estimates from 1000 draws. For 0/1
 * values it is below pass@n.
 */
export function expectedBestOfDraws(values: readonly number[], n: number): number {
  const rising = values.toSorted((a, b) => a - b);
  const k = rising.length;
  return rising.reduce(
    (sum, value, index) => sum + value * (((index + 1) / k) ** n - (index / k) ** n),
    0,
  );
}

/** Returns the expected smallest of n draws with replacement. */
export function expectedWorstOfDraws(values: readonly number[], n: number): number {
  return 0 - expectedBestOfDraws(negated(values), n);
}

/** Computes `0 - value` rather than `-value`, so that no zero becomes -0. */
const negated = (values: readonly number[]): readonly number[] => values.map((value) => 0 - value);
