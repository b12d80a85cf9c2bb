/** Measures the duration of the parts of a train step. */
import type { Clock, Metrics } from '@trinity-rft/core';

export interface Stopwatch {
  /** Awaits `work` and adds its duration in seconds to the metric `time/<name>`. */
  <T>(name: string, work: Promise<T>): Promise<T>;
  /**
   * Returns the duration of each part in seconds. `time/train_step` is the time since the stopwatch
   * was created.
   */
  metrics(): Metrics;
}

export function stopwatch(clock: Pick<Clock, 'now'>): Stopwatch {
  const seconds: Record<string, number> = {};
  const created = clock.now();
  const measure = async <T>(name: string, work: Promise<T>): Promise<T> => {
    const start = clock.now();
    const result = await work;
    const key = `time/${name}`;
    seconds[key] = (seconds[key] ?? 0) + (clock.now() - start) / 1000;
    return result;
  };
  return Object.assign(measure, {
    metrics: () => ({ ...seconds, 'time/train_step': (clock.now() - created) / 1000 }),
  });
}
