/**
 * Interface between the sender and a tracking service. Weights & Biases, MLflow and SwanLab
 * implement it.
 */
import { type MetricRecord, TrinityError } from '@trinity-rft/core';

export const serviceNames = ['wandb', 'mlflow', 'swanlab'] as const;
export type ServiceName = (typeof serviceNames)[number];

/** A record of `metrics.jsonl`, with the time at which it was read. */
export interface ServiceRecord extends MetricRecord {
  /** Time in milliseconds since the epoch. */
  readonly time: number;
}

/** A run at the service, which corresponds to the training run. */
export interface RemoteRun {
  readonly id: string;
  /** URL of the run's page. */
  readonly url: string;
}

interface RecordBatch {
  readonly records: readonly ServiceRecord[];
  /** Number of records of the run that the service received before this batch. */
  readonly first: number;
}

/**
 * Table of rollouts for a service. Each row has the step, reward, prompt and response of a rollout.
 */
export interface PreviewTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number | null)[])[];
}

/** Outcome of a training run, which is reported to the service. */
export type RunOutcome = 'finished' | 'interrupted' | 'failed';

/** One run at one service. If a call fails, it rejects with {@link ServiceError}. */
export interface TrackedRun {
  /**
   * Opens the run with this id to continue it, and starts it if it does not exist. Opening a run
   * again whose response was lost starts no second one. The id of the result, by which the run is
   * continued, may be another one. `url` is '' if the service has not answered before.
   */
  open(run: RemoteRun, signal: AbortSignal): Promise<RemoteRun & { readonly isNew: boolean }>;
  /**
   * Sends a batch. Sending it again has no effect, so a batch whose response was lost can be
   * repeated.
   */
  send(batch: RecordBatch, run: RemoteRun, signal: AbortSignal): Promise<void>;
  /** Sends a table. Undefined if the service cannot show tables. */
  readonly showTable?: (table: PreviewTable, run: RemoteRun, signal: AbortSignal) => Promise<void>;
  /** Sends a heartbeat of the run. Undefined if the service needs no heartbeats. */
  readonly beat?: (run: RemoteRun, signal: AbortSignal) => Promise<void>;
  end(outcome: RunOutcome, run: RemoteRun, signal: AbortSignal): Promise<void>;
}

/**
 * Kind of failure: `refused` if the key is missing or wrong, `rejected` if this request will never
 * be accepted, `unavailable` if a later request may succeed.
 */
export type ServiceProblem = 'refused' | 'rejected' | 'unavailable';

export class ServiceError extends TrinityError {
  readonly problem: ServiceProblem;
  /** Wait before a retry that the service requested, in ms; 0 if it requested none. */
  readonly retryAfterMs: number;

  constructor(
    message: string,
    options: {
      readonly problem: ServiceProblem;
      /** Wait before a retry that the service requested, in ms. @default 0 */
      readonly retryAfterMs?: number;
      readonly cause?: unknown;
    },
  ) {
    super(message, { code: `MONITOR_${options.problem.toUpperCase()}`, cause: options.cause });
    this.problem = options.problem;
    this.retryAfterMs = options.retryAfterMs ?? 0;
  }
}
