/** Formats quantiles: `p50 1.20 ms, p99 3.40 ms (300 times)`. */
export function quantiles(values: readonly number[], digits = 2): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN).toFixed(digits);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms (${values.length} times)`;
}
