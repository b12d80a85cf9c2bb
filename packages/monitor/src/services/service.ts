/** Interface of a tracking service for a run: the seam between the sender and Weights & Biases, MLflow, SwanLab. */
import { type MetricRecord, TrinityError } from '@trinity-rft/core';

export const serviceNames = ['wandb', 'mlflow', 'swanlab'] as const;
export type ServiceName = (typeof serviceNames)[number];

/** A record of `metrics.jsonl` with the time at which it is sent. */
export interface ServiceRecord extends MetricRecord {
  /** Milliseconds since the epoch. */
  readonly time: number;
}

/** The run as the service knows it. */
export interface RemoteRun {
  readonly id: string;
  /** For people. */
  readonly url: string;
}

interface RecordBatch {
  readonly records: readonly ServiceRecord[];
  /** How many records of the run were sent before. */
  readonly first: number;
}

/** Rows for people: prompt, response, reward. */
export interface PreviewTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number | null)[])[];
}

/** How a run ended, as far as this process can say. */
export type RunOutcome = 'finished' | 'interrupted' | 'failed';

/** One run of one service. Every call rejects with a {@link ServiceError}. */
export interface TrackedRun {
  /** Continues the run of this id, or begins one if there is none (any more). */
  open(
    id: string | undefined,
    signal: AbortSignal,
  ): Promise<RemoteRun & { readonly isNew: boolean }>;
  /** Sending the same batch again, after an answer that got lost, changes nothing. */
  send(batch: RecordBatch, run: RemoteRun, signal: AbortSignal): Promise<void>;
  /** Undefined: the service has no tables. */
  readonly showTable?: (table: PreviewTable, run: RemoteRun, signal: AbortSignal) => Promise<void>;
  /** Says that the run continues. Undefined: the service does not ask for it. */
  readonly beat?: (run: RemoteRun, signal: AbortSignal) => Promise<void>;
  end(outcome: RunOutcome, run: RemoteRun, signal: AbortSignal): Promise<void>;
}

/**
 * `refused`: the key is missing or wrong; `rejected`: this request will never be accepted;
 * `unavailable`: later, perhaps.
 */
export type ServiceProblem = 'refused' | 'rejected' | 'unavailable';

export class ServiceError extends TrinityError {
  readonly problem: ServiceProblem;
  /** Wait that the service asked for, in ms. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    options: {
      readonly problem: ServiceProblem;
      readonly retryAfterMs?: number | undefined;
      readonly cause?: unknown;
    },
  ) {
    super(message, { code: `MONITOR_${options.problem.toUpperCase()}`, cause: options.cause });
    this.problem = options.problem;
    this.retryAfterMs = options.retryAfterMs;
  }
}
