/** Reads the values of a metric in a training run from `metrics.jsonl`. */
import type { MetricRecord } from '@trinity-rft/core';
import { readMetrics, valueOf } from './lines/metric-lines.js';

export interface CurveOptions {
  readonly role: MetricRecord['role'];
  /** Name of the metric, such as `rollout/reward/mean`. */
  readonly metric: string;
}

/**
 * Returns the values of the metric, in the order of the file. Omits records without the metric, and
 * values that are not finite.
 * @throws MonitorError when the file cannot be read
 */
export async function readCurve(
  file: string,
  { role, metric }: CurveOptions,
): Promise<readonly number[]> {
  const lines = await readMetrics(file);
  return lines.filter((line) => line.role === role).flatMap((line) => valueOf(line, metric) ?? []);
}
