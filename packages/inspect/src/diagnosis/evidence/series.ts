/** Statistics of a metric over steps. */
import { mean } from '@trinity-rft/core';
import type { Point, Role, RunRecord } from './record.js';

/** Statistic of a metric over a range of steps: usually its mean, or a share. */
export interface Measured {
  readonly role: Role;
  readonly metric: string;
  /** First and last step of the statistic. */
  readonly from: number;
  readonly to: number;
  readonly value: number;
  /** Metrics whose sum is the numerator, if the value is a share. @default no numerator */
  readonly counted?: readonly string[];
  /** Metrics whose sum is the denominator, if the value is a share. @default no denominator */
  readonly outOf?: readonly string[];
  /** Description of the value, if it is neither a value or mean of the metric, nor a share of sums. */
  readonly statistic?: string;
}

/**
 * Returns one item per step, in ascending order of steps. If a step has several items, as after a
 * repeated `trinity eval`, returns the newest of them.
 * @param items in the order in which they were recorded
 */
export const newestOfSteps = <T extends { readonly step: number }>(
  items: readonly T[],
): readonly T[] =>
  [...new Map(items.map((item) => [item.step, item])).values()].toSorted((a, b) => a.step - b.step);

/** Minimum number of steps for a rule to apply. */
export const leastSteps = 3;
const [leastRecent, mostRecent] = [5, 50];

/** Returns the last fifth of the points, but at least 5 and at most 50. */
export const recent = (points: readonly Point[]): readonly Point[] =>
  points.slice(-Math.min(mostRecent, Math.max(leastRecent, Math.ceil(points.length / 5))));

export const valuesOf = (points: readonly Point[]): readonly number[] =>
  points.map(({ value }) => value).filter(Number.isFinite);

/** Returns the share of zeros among the values. */
export const zerosIn = (values: readonly number[]): number =>
  values.filter((value) => value === 0).length / values.length;

export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/**
 * Returns a statistic (by default the mean) of a metric over its recent steps, or undefined if
 * fewer than {@link leastSteps} of their values are finite.
 */
export function recently(
  run: RunRecord,
  role: Role,
  metric: string,
  reduce: (values: readonly number[]) => number = mean,
): Measured | undefined {
  const points = recent(run.points(role, metric));
  const values = valuesOf(points);
  const [first, last] = [points.at(0), points.at(-1)];
  if (values.length < leastSteps || !first || !last) return undefined;
  return { role, metric, from: first.step, to: last.step, value: reduce(values) };
}

/**
 * Returns the mean over recent steps of the first of several metrics that has enough values, as
 * {@link recently} does.
 */
export function recentlyAny(
  run: RunRecord,
  metrics: readonly (readonly [role: Role, metric: string])[],
): Measured | undefined {
  for (const [role, metric] of metrics) {
    const found = recently(run, role, metric);
    if (found) return found;
  }
  return undefined;
}

/** Selected steps, with a function that sums metrics over these steps. */
interface Window {
  readonly steps: readonly number[];
  /**
   * Returns the sum of all finite values of the metrics. A metric that a step does not report adds
   * 0.
   */
  readonly sumOf: (metrics: readonly string[]) => number;
}

/**
 * Selects steps with `part` from all steps that report at least one of the metrics. A step need not
 * report all of them, because some metrics are omitted from steps in which they are 0.
 */
function windowOf(
  run: RunRecord,
  role: Role,
  metrics: readonly string[],
  part: (points: readonly Point[]) => readonly Point[],
): Window {
  const all = metrics.flatMap((metric) => run.points(role, metric));
  const steps = part(newestOfSteps(all)).map(({ step }) => step);
  const within = new Set(steps);
  const sumOf = (some: readonly string[]): number =>
    some
      .flatMap((metric) => run.points(role, metric).filter(({ step }) => within.has(step)))
      .reduce((sum, { value }) => sum + (Number.isFinite(value) ? value : 0), 0);
  return { steps, sumOf };
}

/** Returns the recent steps among those that report at least one of the metrics. */
export const recentSteps = (run: RunRecord, role: Role, metrics: readonly string[]): Window =>
  windowOf(run, role, metrics, recent);

/**
 * Returns the sum of the `counted` metrics divided by the sum of the `outOf` metrics, over recent
 * steps. Returns undefined if the sum of the `outOf` metrics is 0, if there are too few steps, or if
 * no counted metric is recorded.
 */
export function recentShare(
  run: RunRecord,
  role: Role,
  counted: readonly string[],
  outOf: readonly string[],
): Measured | undefined {
  const { steps, sumOf } = recentSteps(run, role, [...counted, ...outOf]);
  const [from, to, total] = [steps.at(0), steps.at(-1), sumOf(outOf)];
  const isRecorded = (name: string): boolean => valuesOf(run.points(role, name)).length > 0;
  const recorded = counted.filter(isRecorded).toSorted((a, b) => sumOf([b]) - sumOf([a]));
  const [metric] = recorded;
  if (metric === undefined || from === undefined || to === undefined) return undefined;
  if (steps.length < leastSteps || total <= 0) return undefined;
  const value = sumOf(counted) / total;
  return { role, metric, from, to, value, counted: recorded, outOf: outOf.filter(isRecorded) };
}

/** Returns the share of {@link recentShare}, but over the first steps. */
export function firstShare(
  run: RunRecord,
  role: Role,
  counted: readonly string[],
  outOf: readonly string[],
): number | undefined {
  const { sumOf } = windowOf(run, role, [...counted, ...outOf], (points) =>
    points.slice(0, leastSteps),
  );
  const total = sumOf(outOf);
  return total > 0 ? sumOf(counted) / total : undefined;
}

/** Mean rewards over the steps of a run, with the lowest and the highest reward. */
export interface RewardCourse {
  readonly role: Role;
  readonly metric: string;
  /** Mean rewards by step. */
  readonly points: readonly Point[];
  /** Lowest reward of any task in any step. */
  readonly lowest: number;
  readonly highest: number;
  /** Mean of the reward over the recent steps. */
  readonly now: number;
}

/**
 * Returns the rewards that the explorer has recorded. If it has recorded none and drops no
 * experiences, returns those of the experiences that were trained on. Returns undefined if there
 * are fewer than {@link leastSteps} steps.
 */
export function rewardCourse(run: RunRecord): RewardCourse | undefined {
  const pointsOf = (role: Role, name: string): readonly Point[] =>
    run.points(role, `${name}/mean`).filter(({ value }) => Number.isFinite(value));
  const explored = pointsOf('explorer', 'rollout/reward');
  const drops = valuesOf(run.points('explorer', filteredCount)).some((count) => count > 0);
  const [role, name] =
    explored.length > 0 || drops
      ? (['explorer', 'rollout/reward'] as const)
      : (['trainer', 'critic/score'] as const);
  const points = pointsOf(role, name);
  if (points.length < leastSteps) return undefined;
  const means = valuesOf(points);
  return {
    role,
    metric: `${name}/mean`,
    points,
    lowest: least([...valuesOf(run.points(role, `${name}/min`)), ...means]),
    highest: most([...valuesOf(run.points(role, `${name}/max`)), ...means]),
    now: mean(valuesOf(recent(points))),
  };
}

/** Metric with the number of experiences that operators and the advantage function drop. */
export const filteredCount = 'experience_pipeline/filtered_count';

export const most = (values: readonly number[]): number =>
  values.reduce((a, b) => Math.max(a, b), -Infinity);
export const least = (values: readonly number[]): number =>
  values.reduce((a, b) => Math.min(a, b), Infinity);

/**
 * Position of the mean reward between the lowest (0) and the highest reward (1) from which on
 * little is left to learn.
 */
export const solvedShare = 0.9;

/**
 * Returns true if the mean reward has covered at least {@link solvedShare} of the range from the
 * lowest to the highest reward. Equal responses and equal rewards are then expected.
 */
export function isSolved(run: RunRecord): boolean {
  const course = rewardCourse(run);
  if (!course) return false;
  const { lowest, highest, now } = course;
  return highest > lowest && now >= lowest + solvedShare * (highest - lowest);
}

/**
 * Minimum slope of a rising curve, as a multiple of the slope's standard error. With the better of
 * two fits, it finds a trend in independent normal values about as often as a single line does with
 * 2: in 9.6 % of courses of 8 steps, 5.4 % of 30 and 4.7 % of 100, but in 32 % of 3 steps.
 */
export const flatRatio = 2.16;

/**
 * Returns whether a curve rises or falls by more than {@link flatRatio} standard errors of its
 * slope. Fits a line over the steps and one over the logarithm of their rank, and takes the better
 * fit: a reward that jumps early and then stays at a plateau has almost no slope over the steps.
 */
export function trendOf(points: readonly Point[]): 'rose' | 'fell' | 'same' {
  const ranked = points
    .toSorted((a, b) => a.step - b.step)
    .map(({ value }, rank) => ({ step: Math.log1p(rank), value }));
  const [ratio = 0] = [points, ranked]
    .map(lineThrough)
    .map(({ slope, error }) => (slope === 0 ? 0 : slope / error))
    .toSorted((a, b) => Math.abs(b) - Math.abs(a));
  if (Math.abs(ratio) <= flatRatio) return 'same';
  return ratio > 0 ? 'rose' : 'fell';
}

/** Returns the slope of the least-squares line, and its standard error. */
export function lineThrough(points: readonly Point[]): { slope: number; error: number } {
  const [x0, y0] = [mean(points.map(({ step }) => step)), mean(valuesOf(points))];
  const sum = (of: (x: number, y: number) => number): number =>
    points.reduce((total, { step, value }) => total + of(step - x0, value - y0), 0);
  const spread = sum((x) => x ** 2);
  const slope = sum((x, y) => x * y) / spread;
  const rest = sum((x, y) => (y - slope * x) ** 2);
  return { slope, error: Math.sqrt(rest / Math.max(1, points.length - 2) / spread) };
}

/**
 * Matches the name of the metric with the mean of an evaluation. Group 1 is the set; group 2 is
 * `reward` or `accuracy`.
 */
export const evalName = /^(?:eval|bench)\/(.+)\/(reward|accuracy)\/mean(?:@\d+)?$/;
