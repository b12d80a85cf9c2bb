/** Interfaces of monitors, which receive the metrics of a training run. */
import type { Metrics } from './metrics.js';

export type MetricRole = 'explorer' | 'trainer' | 'bench';

export interface MetricRecord {
  readonly role: MetricRole;
  /**
   * Explore step for the explorer, train step for the trainer; for bench, the train step of the
   * checkpoint.
   */
  readonly step: number;
  readonly metrics: Metrics;
}

/** A consumer of metrics. `write` must not throw, because a monitor must not end a training run. */
export interface MetricSink {
  write(record: MetricRecord): void;
  close(): Promise<void>;
}

/**
 * A monitor that a program adds with `run({ monitors })`. Each process of a training run opens the
 * monitor once per stage.
 */
export interface Monitor {
  /**
   * Starts to receive the metrics of a stage.
   * @param stage names of the project and the stage, and the folder of the stage's metric files
   */
  open(stage: {
    readonly project: string;
    readonly name: string;
    readonly directory: string;
  }): MetricSink;
}
