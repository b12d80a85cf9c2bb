/** Reads the lines of `metrics.jsonl`. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { describeError, type MetricRecord } from '@trinity-rft/core';
import { MonitorError } from './monitor-error.js';

/** One line of `metrics.jsonl`. A value is null if it was not finite. */
export interface MetricLine {
  readonly role: MetricRecord['role'];
  readonly step: number;
  readonly metrics: Readonly<Record<string, number | null>>;
  /**
   * Durations and rates. They are separate from `metrics` because they differ between two training
   * runs with the same seed.
   * @default no durations
   */
  readonly timing?: Readonly<Record<string, number | null>>;
}

/**
 * Reads the lines of a metrics file. Omits a last line that is still being written.
 * @param ifMissing result if the file does not exist. @default undefined: an error is thrown
 * @throws MonitorError when the file cannot be read, or is not a metrics file
 */
export async function readMetrics(
  file: string,
  ifMissing?: readonly MetricLine[],
): Promise<readonly MetricLine[]> {
  if (ifMissing !== undefined && !existsSync(file)) return ifMissing;
  try {
    const text = await readFile(file, 'utf8');
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as MetricLine);
  } catch (cause) {
    throw new MonitorError(
      `No metrics can be read from ${file}: ${describeError(cause)}. Expected the metrics.jsonl of a run.`,
      { code: 'METRICS_FILE', cause },
    );
  }
}

export const valueOf = ({ metrics, timing }: MetricLine, metric: string): number | undefined =>
  metrics[metric] ?? timing?.[metric] ?? undefined;

/**
 * Returns the steps and values of one metric, from all roles that report it. A value is NaN if the
 * recorded value was not finite.
 */
export const curveOf = (
  lines: readonly MetricLine[],
  metric: string,
): readonly (readonly [step: number, value: number])[] =>
  lines.flatMap(({ step, metrics, timing }) => {
    const value = metrics[metric] === undefined ? timing?.[metric] : metrics[metric];
    return value === undefined ? [] : [[step, value ?? Number.NaN] as const];
  });

/** Returns the names of all metrics and timings in the lines, sorted. */
export const metricNames = (lines: readonly MetricLine[]): readonly string[] =>
  [
    ...new Set(lines.flatMap(({ metrics, timing }) => Object.keys({ ...metrics, ...timing }))),
  ].toSorted();

/**
 * Returns true for metrics that are durations or rates. They differ between two training runs with
 * the same seed.
 */
export function isTimingKey(key: string): boolean {
  return (
    key.startsWith('time/') ||
    key.startsWith('perf/') ||
    key.includes('/perf/') ||
    key.includes('/time/') ||
    key.includes('timing')
  );
}
