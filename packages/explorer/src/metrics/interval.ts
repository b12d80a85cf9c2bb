/**
 * 95% confidence intervals of a mean over tasks. Tasks are the sample, because rollouts of the same
 * task are not independent.
 */
import { mean } from '@trinity-rft/core';
import { populationStd, sampleStd } from '@trinity-rft/core/internal';

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Quantile 0.975 of the normal distribution. */
const z = 1.959963984540054;

/**
 * Returns the interval of the mean of one number per task, or undefined for fewer than two tasks.
 * Numbers in [0, 1] are treated as rates. They get Wilson's score interval, which is valid near 0
 * and 1 even if all numbers are equal, with the effective sample size mean (1 - mean) / variance of
 * the mean. That is the number of tasks if each has one rollout, and larger if rollouts vary more
 * within tasks than between them. Other numbers get an interval by Student's t. Sources: Wilson
 * 1927, doi:10.2307/2276774; Korn and Graubard 1998.
 */
export function meanInterval(perTask: readonly number[]): Interval | undefined {
  const count = perTask.length;
  if (count < 2) return undefined;
  const average = mean(perTask);
  if (perTask.every((value) => value >= 0 && value <= 1))
    return wilson(average, effectiveSize(perTask, average));
  return studentInterval(perTask);
}

function studentInterval(values: readonly number[]): Interval {
  const half = (studentQuantile(values.length - 1) * sampleStd(values)) / Math.sqrt(values.length);
  return { low: mean(values) - half, high: mean(values) + half };
}

export interface PairedDifference {
  /** Mean over tasks of the second number minus the first. */
  readonly mean: number;
  /** 95% interval of the mean, by Student's t; undefined for fewer than two tasks. */
  readonly interval: Interval | undefined;
  /** Number of tasks with a positive difference. */
  readonly better: number;
  readonly worse: number;
  readonly same: number;
}

/**
 * Computes statistics of the difference between two numbers per task. Both lists are in the order
 * of the tasks.
 */
export function pairedDifference(
  before: readonly number[],
  after: readonly number[],
): PairedDifference {
  const differences = after.map((value, i) => value - (before[i] ?? Number.NaN));
  const count = (holds: (difference: number) => boolean): number =>
    differences.filter(holds).length;
  return {
    mean: mean(differences),
    interval: differences.length < 2 ? undefined : studentInterval(differences),
    better: count((difference) => difference > 0),
    worse: count((difference) => difference < 0),
    same: count((difference) => difference === 0),
  };
}

function effectiveSize(perTask: readonly number[], average: number): number {
  const variance = populationStd(perTask) ** 2 / perTask.length;
  // Without variance between tasks, the correlation of the runs of a task is unknown, so each task
  // is treated as one run.
  return variance > 1e-15 ? (average * (1 - average)) / variance : perTask.length;
}

function wilson(rate: number, count: number): Interval {
  const centre = rate + z ** 2 / (2 * count);
  const half = z * Math.sqrt((rate * (1 - rate)) / count + z ** 2 / (4 * count ** 2));
  const scale = 1 + z ** 2 / count;
  return { low: Math.max(0, (centre - half) / scale), high: Math.min(1, (centre + half) / scale) };
}

/**
 * Returns the 0.975 quantile of Student's t. It is exact for one and two degrees of freedom. For
 * more degrees of freedom it is the Cornish-Fisher expansion (Abramowitz and Stegun 26.7.5), within
 * 0.2%.
 */
export function studentQuantile(freedom: number): number {
  if (freedom === 1) return Math.tan(Math.PI * 0.475);
  if (freedom === 2) return 0.95 * Math.sqrt(2 / (1 - 0.95 ** 2));
  const terms = [
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
    (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / 92160,
  ];
  return terms.reduce((sum, term, index) => sum + term / freedom ** (index + 1), z);
}
