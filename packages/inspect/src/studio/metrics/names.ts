/** Names of a file's metrics, and their latest values. */
import { mean as meanOf } from '@trinity-rft/core';
import { tryJson } from '@trinity-rft/core/support';

/** Number of latest values that are kept for the mean. */
const recentLength = 20;
/**
 * Minimum number of values for an interval: with fewer values the interval is too wide to be
 * useful.
 */
const leastForInterval = 5;

export interface SeenMetric {
  readonly role: string;
  readonly name: string;
  points: number;
  /** Latest value; NaN if the recorded value is not finite. */
  last: number;
  /** The latest values, in any order. */
  readonly recent: number[];
}

export type SeenMetrics = Map<string, SeenMetric>;

interface Line {
  readonly role: string;
  readonly metrics: Readonly<Record<string, number | null>>;
  readonly timing: Readonly<Record<string, number | null>>;
}

export function addToNames(seen: SeenMetrics, text: string): void {
  const { role, metrics, timing } = (tryJson(text) ?? {}) as Partial<Line>;
  if (typeof role !== 'string') return;
  for (const values of [metrics, timing])
    for (const name in values) {
      const value = values[name];
      if (typeof value === 'number' || value === null)
        addOne(seen, role, name, value ?? Number.NaN);
    }
}

function addOne(seen: SeenMetrics, role: string, name: string, value: number): void {
  const key = `${role} ${name}`;
  let metric = seen.get(key);
  if (!metric) {
    metric = { role, name, points: 0, last: value, recent: [] };
    seen.set(key, metric);
  }
  metric.recent[metric.points % recentLength] = value;
  metric.points++;
  metric.last = value;
}

interface RecentMean {
  /** Number of the finite values among the latest ones. */
  readonly count: number;
  /** Mean of the finite values; NaN if there are none. */
  readonly mean: number;
  /**
   * Lower end of the 95 % interval of the mean, as if the values were independent; NaN for fewer
   * than five values.
   */
  readonly low: number;
  readonly high: number;
}

export function recentMean({ recent }: SeenMetric): RecentMean {
  const values = recent.filter((value) => Number.isFinite(value));
  const count = values.length;
  const mean = meanOf(values);
  if (count < leastForInterval) return { count, mean, low: Number.NaN, high: Number.NaN };
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const half = quantile(count - 1) * Math.sqrt(squares / (count - 1) / count);
  return { count, mean, low: mean - half, high: mean + half };
}

/**
 * The 97.5 % quantile of Student's t-distribution for four or more degrees of freedom; Abramowitz
 * and Stegun 26.7.5.
 */
function quantile(degrees: number): number {
  const z = 1.95996;
  return (
    z +
    (z ** 3 + z) / (4 * degrees) +
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * degrees ** 2) +
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * degrees ** 3)
  );
}
