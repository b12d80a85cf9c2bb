/**
 * Writes metrics to `metrics.jsonl`, with one line per record. Each line is in the file before
 * `write` returns.
 */
import { appendFileSync, closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { type Logger, type MetricRecord, type MetricSink, silentLogger } from '@trinity-rft/core';
import { fileGuard } from './file-writer.js';
import { isTimingKey } from './lines/metric-lines.js';
import { MonitorError } from './lines/monitor-error.js';
import type { ResumePoint } from './resume-point.js';
import { trimJsonl } from './trim-jsonl.js';

export interface JsonlSinkOptions {
  /** Path of the file. The file and its folder are created if necessary. */
  readonly path: string;
  /**
   * Last step of each role whose records are kept; later records are removed. @default all records
   * are kept
   */
  readonly resume?: ResumePoint;
  /** Logger for warnings: one per metric that has a value that is not finite. @default no logger */
  readonly logger?: Pick<Logger, 'warn'>;
}

/**
 * Creates a sink that appends one line per record: a JSON object with `role`, `step`, `metrics` and
 * `timing`. Keys are sorted. Durations and rates are in `timing`, so that everything else is
 * identical, byte for byte, in two training runs with the same seed. Numbers that are not finite
 * become null. When the file is opened, an incomplete line, left by a process that was killed, and
 * the records beyond the resume point are removed. `write` throws on a disk error, so wrap the sink
 * in `teeSink`.
 * @throws MonitorError when the file cannot be opened or written
 */
export function jsonlSink({
  path: file,
  resume = {},
  logger = silentLogger,
}: JsonlSinkOptions): MetricSink {
  const guarded = fileGuard(file, 'METRICS_FILE');
  let descriptor: number | undefined = guarded(() => {
    mkdirSync(path.dirname(file), { recursive: true });
    trimJsonl(file, resume);
    return openSync(file, 'a');
  });
  const reported = new Set<string>();

  return {
    write: (record) => {
      if (descriptor === undefined)
        throw new MonitorError(
          `${file} was written after it was closed. Close the sink after its last record.`,
          { code: 'SINK_CLOSED' },
        );
      const open = descriptor;
      for (const key of notFinite(record)) {
        if (reported.has(key)) continue;
        reported.add(key);
        logger.warn(
          `Metric ${key} is ${record.metrics[key]} at ${record.role} step ${record.step}; it is written as null. This is reported once per metric.`,
        );
      }
      // One append per line, so that a kill loses at most the line being written.
      guarded(() => appendFileSync(open, jsonlLine(record)));
    },
    close: async () => {
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
    },
  };
}

/** Formats a record as a line of `metrics.jsonl`, including the newline. */
export function jsonlLine({ role, step, metrics }: MetricRecord): string {
  const entries = Object.entries(metrics).sort(([a], [b]) => (a < b ? -1 : 1));
  const pick = (isTiming: boolean): Record<string, number> =>
    Object.fromEntries(entries.filter(([key]) => isTimingKey(key) === isTiming));
  return `${JSON.stringify({ role, step, metrics: pick(false), timing: pick(true) })}\n`;
}

function notFinite({ metrics }: MetricRecord): readonly string[] {
  return Object.keys(metrics).filter((key) => !Number.isFinite(metrics[key]));
}
