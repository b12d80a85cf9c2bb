/**
 * Interface of a tracking service, which the sender uses and Weights & Biases, MLflow and SwanLab
 * implement.
 */
import { type MetricRecord, TrinityError } from '@trinity-rft/core';

export const serviceNames = ['wandb', 'mlflow', 'swanlab'] as const;
export type ServiceName = (typeof serviceNames)[number];

/** A record of `metrics.jsonl` with the time at which it is sent. */
export interface ServiceRecord extends MetricRecord {
  /** Milliseconds since the epoch. */
  readonly time: number;
}

/** The run at the service. */
export interface RemoteRun {
  readonly id: string;
  /** URL of the run's page. */
  readonly url: string;
}

interface RecordBatch {
  readonly records: readonly ServiceRecord[];
  /** Number of records of the run that were sent before this batch. */
  readonly first: number;
}

/** Rollouts to be shown as rows, with step, reward, prompt and response. */
export interface PreviewTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number | null)[])[];
}

/** Outcome of a training run, which is reported to the service. */
export type RunOutcome = 'finished' | 'interrupted' | 'failed';

/** One run of one service. Calls that fail reject with {@link ServiceError}. */
export interface TrackedRun {
  /**
   * Continues the run with this id. Starts a new run if `id` is undefined or the run no longer
   * exists.
   */
  open(
    id: string | undefined,
    signal: AbortSignal,
  ): Promise<RemoteRun & { readonly isNew: boolean }>;
  /** Sends a batch. Idempotent: if a response was lost, sending the batch again changes nothing. */
  send(batch: RecordBatch, run: RemoteRun, signal: AbortSignal): Promise<void>;
  /** Shows a table. Undefined if the service has no tables. */
  readonly showTable?: (table: PreviewTable, run: RemoteRun, signal: AbortSignal) => Promise<void>;
  /** Sends a heartbeat of the run. Undefined if the service needs no heartbeats. */
  readonly beat?: (run: RemoteRun, signal: AbortSignal) => Promise<void>;
  end(outcome: RunOutcome, run: RemoteRun, signal: AbortSignal): Promise<void>;
}

/**
 * Kind of failure. With `refused`, the key is missing or wrong. With `rejected`, this request will
 * never be accepted. With `unavailable`, a later request may succeed.
 */
export type ServiceProblem = 'refused' | 'rejected' | 'unavailable';

export class ServiceError extends TrinityError {
  readonly problem: ServiceProblem;
  /** Wait time that the service requested, in ms; 0 if it requested none. */
  readonly retryAfterMs: number;

  constructor(
    message: string,
    options: {
      readonly problem: ServiceProblem;
      /** Wait time that the service requested, in ms. @default 0 */
      readonly retryAfterMs?: number;
      readonly cause?: unknown;
    },
  ) {
    super(message, { code: `MONITOR_${options.problem.toUpperCase()}`, cause: options.cause });
    this.problem = options.problem;
    this.retryAfterMs = options.retryAfterMs ?? 0;
  }
}
