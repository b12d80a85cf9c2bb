/** Metric sink that passes each record to several other sinks. */
import {
  type Clock,
  describeError,
  type MetricRecord,
  type Metrics,
  type MetricSink,
  systemClock,
} from '@trinity-rft/core';
import { redactText, untilAborted } from '@trinity-rft/core/support';
import { MonitorError } from './lines/monitor-error.js';

/**
 * Maximum number of metrics in a record. Drawing charts of more metrics would take longer than a
 * step.
 */
const mostMetrics = 5000;

/** Maximum time for which `close` waits for a sink, in milliseconds. */
const closeMs = 30_000;

export interface TeeSinkOptions {
  /** Clock of the limit of `close`. @default the system clock */
  readonly clock?: Pick<Clock, 'after'>;
  /**
   * Called once for each sink that fails, when it is dropped, and once for records that have too
   * many metrics. Errors that it throws are ignored.
   */
  readonly onError: (error: MonitorError) => void;
}

/**
 * Creates a sink that writes every record to all given sinks, in order. It never throws. If a sink
 * fails, the failure is reported and the sink is closed and dropped; the other sinks continue,
 * because monitoring must not end a training run. Secrets in names of metrics are redacted, and at
 * most 5,000 metrics of a record are written. `close` closes the remaining sinks, and waits at most
 * 30 s for each. Later writes are ignored.
 */
export function teeSink(
  sinks: readonly MetricSink[],
  { clock = systemClock, onError }: TeeSinkOptions,
): MetricSink {
  let alive = [...sinks];

  let hasReportedSize = false;

  const tell = (message: string, code: string, cause?: unknown): void => {
    try {
      onError(new MonitorError(message, { code, cause }));
    } catch {
      // There is no other place to report the error.
    }
  };

  const report = (what: string, cause: unknown): void =>
    tell(
      `${what}: ${describeError(cause).replace(/\.$/, '')}. The run continues without it.`,
      'SINK_FAILED',
      cause,
    );

  const bounded = ({ role, step, metrics }: MetricRecord): Metrics => {
    const entries = Object.entries(metrics);
    if (entries.length > mostMetrics && !hasReportedSize) {
      hasReportedSize = true;
      tell(
        `The record of ${role} step ${step} has ${entries.length} metrics, of which the first ${mostMetrics} are written, now and later. Give metrics of workflows, rewards and operators fewer names.`,
        'METRICS_TOO_MANY',
      );
    }
    return Object.fromEntries(
      entries.slice(0, mostMetrics).map(([name, value]) => [safeName(name), value]),
    );
  };

  const close = async (sink: MetricSink): Promise<void> => {
    const limit = new AbortController();
    const late = new MonitorError(`it took more than ${closeMs / 1000} s`, {
      code: 'SINK_SLOW',
    });
    const cancelTimer = clock.after(closeMs, () => limit.abort(late));
    try {
      await untilAborted((async () => sink.close())(), limit.signal);
    } catch (cause) {
      report('A metric sink could not be closed', cause);
    } finally {
      cancelTimer();
    }
  };

  return {
    write: (record) => {
      const safe = { ...record, metrics: bounded(record) };
      for (const sink of alive) {
        try {
          sink.write(safe);
        } catch (cause) {
          alive = alive.filter((other) => other !== sink);
          report(`A metric sink failed at ${record.role} step ${record.step}`, cause);
          // The failure of the sink was already reported. An error of closing it adds nothing.
          void Promise.resolve()
            .then(() => sink.close())
            .catch(() => undefined);
        }
      }
    },
    close: async () => {
      const open = alive;
      alive = [];
      for (const sink of open) await close(sink);
    },
  };
}

/**
 * Redacted metric names, keyed by the original name. The map stays small, because the same names
 * recur in every step.
 */
const known = new Map<string, string>();

function safeName(name: string): string {
  const safe = known.get(name) ?? redactText(name);
  if (known.size < 2 * mostMetrics) known.set(name, safe);
  return safe;
}
