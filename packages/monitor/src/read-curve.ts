/** A metric over the steps of a run, read back from `metrics.jsonl`. */
import { readFile } from 'node:fs/promises';
import { describeError, type MetricRecord } from '@trinity-rft/core';
import { MonitorError } from './monitor-error.js';

export interface CurveOptions {
  readonly role: MetricRecord['role'];
  /** Key of the metric, e.g. `rollout/reward/mean`. */
  readonly metric: string;
}

interface Line {
  readonly role: string;
  readonly metrics: Readonly<Record<string, number | null>>;
  readonly timing: Readonly<Record<string, number | null>>;
}

/**
 * Values in the order of the file; records without the metric, and values that are not finite, are
 * left out, and so is a line that is still being written.
 * @throws MonitorError when the file
 * cannot be read
 */
export async function readCurve(
  file: string,
  { role, metric }: CurveOptions,
): Promise<readonly number[]> {
  try {
    const text = await readFile(file, 'utf8');
    const lines = text.split('\n').slice(0, -1);
    return lines.flatMap((line) => {
      const record = JSON.parse(line) as Line;
      return record.role === role ? (record.metrics[metric] ?? record.timing[metric] ?? []) : [];
    });
  } catch (cause) {
    throw new MonitorError(
      `No metrics can be read from ${file}: ${describeError(cause)}. Expected the metrics.jsonl of a run.`,
      { code: 'METRICS_FILE', cause },
    );
  }
}
