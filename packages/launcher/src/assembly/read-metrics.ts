/** The lines of `metrics.jsonl`. */
import { readFile } from 'node:fs/promises';
import type { MetricRecord } from '@trinity-rft/core';

export interface MetricLine {
  readonly role: MetricRecord['role'];
  readonly step: number;
  /** Null stands for a value that was not finite. */
  readonly metrics: Readonly<Record<string, number | null>>;
  readonly timing: Readonly<Record<string, number | null>>;
}

/** None when there is no file. A line that is not whole yet is left out. */
export async function readMetrics(file: string): Promise<readonly MetricLine[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as MetricLine);
}

/** Steps and values of one metric, of whoever reports it. */
export const curveOf = (
  lines: readonly MetricLine[],
  metric: string,
): readonly (readonly [step: number, value: number])[] =>
  lines.flatMap(({ step, metrics, timing }) => {
    const value = metrics[metric] ?? timing[metric];
    return value === undefined || value === null ? [] : [[step, value] as const];
  });

export const metricNames = (lines: readonly MetricLine[]): readonly string[] =>
  [
    ...new Set(lines.flatMap(({ metrics, timing }) => Object.keys({ ...metrics, ...timing }))),
  ].toSorted();
