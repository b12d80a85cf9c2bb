/** Metrics for charts: flat records whose keys have slashes, and functions that combine them. */

/**
 * Numbers, keyed by names with slashes (`rollout/reward/mean`). A number that is not finite is
 * reported once per name, and written as null.
 */
export type Metrics = Readonly<Record<string, number>>;

/** Prepends `prefix/` to each key. */
export function prefixMetrics(prefix: string, metrics: Metrics): Metrics {
  return Object.fromEntries(
    Object.entries(metrics).map(([key, value]) => [`${prefix}/${key}`, value]),
  );
}

/** Returns the arithmetic mean, or NaN for an empty list. Sums in float64. */
export function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / values.length;
}

/** Returns the sample standard deviation (n - 1): 0 for a single value, NaN for an empty list. */
export function sampleStd(values: ArrayLike<number>): number {
  const n = values.length;
  if (n === 1) return 0;
  return Math.sqrt((populationStd(values) ** 2 * n) / (n - 1));
}

/** Returns the population standard deviation (n), or NaN for an empty list. */
export function populationStd(values: ArrayLike<number>): number {
  const average = mean(values);
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += (values[i]! - average) ** 2;
  return Math.sqrt(sum / values.length);
}

/** Returns the mean of each key over the records that have the key. */
export function meanMetrics(records: readonly Metrics[]): Metrics {
  return Object.fromEntries([...collect(records)].map(([key, values]) => [key, mean(values)]));
}

/**
 * Computes `<prefix>/<key>/{mean,max,min}` of each key over the records that have the key. With
 * `options.std`, also computes `std`, the sample standard deviation. With an empty prefix, names
 * begin with the key.
 */
export function gatherMetrics(
  records: readonly Metrics[],
  prefix: string,
  options: { readonly std?: boolean } = {},
): Metrics {
  const out: Record<string, number> = {};
  const at = prefix === '' ? '' : `${prefix}/`;
  for (const [key, values] of collect(records)) {
    out[`${at}${key}/mean`] = mean(values);
    out[`${at}${key}/max`] = values.reduce((a, b) => Math.max(a, b));
    out[`${at}${key}/min`] = values.reduce((a, b) => Math.min(a, b));
    if (options.std) out[`${at}${key}/std`] = sampleStd(values);
  }
  return out;
}

function collect(records: readonly Metrics[]): Map<string, number[]> {
  const byKey = new Map<string, number[]>();
  for (const record of records) {
    for (const [key, value] of Object.entries(record)) {
      const values = byKey.get(key);
      if (values) values.push(value);
      else byKey.set(key, [value]);
    }
  }
  return byKey;
}
