/** One sink in front of several. */
import { describeError, type MetricSink } from '@trinity-rft/core';
import { MonitorError } from './monitor-error.js';

export interface TeeSinkOptions {
  /** Called once for each sink that failed, when it is dropped. What it throws is ignored. */
  readonly onError: (error: MonitorError) => void;
}

/**
 * Writes every record to every sink, in order. Never throws: a sink that does is reported, closed
 * and dropped, and the others continue, because a monitor must not end a run. `close` closes the
 * remaining sinks; writes after it are ignored.
 */
export function teeSink(sinks: readonly MetricSink[], { onError }: TeeSinkOptions): MetricSink {
  let alive = [...sinks];

  const report = (what: string, cause: unknown): void => {
    try {
      onError(
        new MonitorError(`${what}: ${describeError(cause)}. The run continues without it.`, {
          code: 'SINK_FAILED',
          cause,
        }),
      );
    } catch {
      // No other place to report it.
    }
  };

  const close = async (sink: MetricSink): Promise<void> => {
    try {
      await sink.close();
    } catch (cause) {
      report('A metric sink could not be closed', cause);
    }
  };

  return {
    write: (record) => {
      for (const sink of alive) {
        try {
          sink.write(record);
        } catch (cause) {
          alive = alive.filter((other) => other !== sink);
          report(`A metric sink failed at ${record.role} step ${record.step}`, cause);
          // Its failure has just been reported: one of closing it adds nothing.
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
