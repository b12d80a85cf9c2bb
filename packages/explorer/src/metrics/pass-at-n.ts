/** pass@n and pass^n: what n attempts of k would have reached, exactly and without bias. */

/**
 * Expectation of the largest of n draws without replacement from k values: sum over sorted v_(i) of
 * v_(i) C(i-1, n-1) / C(k, n). For 0/1 values with c ones it is pass@n = 1 - C(k-c, n) / C(k, n),
 * the chance that at least one of n attempts succeeds. The weights are products of ratios below 1:
 * nothing overflows. `1 <= n <= k`. Source: Chen et al., arXiv:2107.03374.
 */
export function expectedBest(values: readonly number[], n: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const k = sorted.length;
  // weight(i) = C(i-1, n-1) / C(k, n), from the largest value down: n/k for i = k, then times
  // (i-n)/(i-1) for each step down.
  let weight = n / k;
  let sum = 0;
  for (let i = k; i >= n; i--) {
    sum += sorted[i - 1]! * weight;
    if (i > 1) weight *= (i - n) / (i - 1);
  }
  return sum;
}

/**
 * Expectation of the smallest of n draws without replacement. For 0/1 values with c ones it is
 * pass^n = C(c, n) / C(k, n), the chance that all of n attempts succeed. Source: tau-bench,
 * arXiv:2406.12045.
 */
export function expectedWorst(values: readonly number[], n: number): number {
  return (
    0 -
    expectedBest(
      values.map((value) => 0 - value),
      n,
    )
  );
}
