/** The outcome of a task and of each of its runs. */
import type { Task } from '@trinity-rft/core';
import type { FailureKind } from './classify-failure.js';
import type { FinishedRun } from './finish-runs.js';

export type RunOutcome = SuccessfulRun | FailedRun;

export interface SuccessfulRun extends FinishedRun {
  readonly status: 'ok';
  readonly seconds: number;
  /** The agent failed, and its calls got the failure reward. */
  readonly failure?: Error;
}

export interface FailedRun {
  readonly status: 'failed';
  readonly run: number;
  readonly kind: FailureKind;
  readonly error: Error;
  readonly seconds: number;
}

export interface TaskOutcome {
  readonly task: Task;
  /** In run order. */
  readonly runs: readonly RunOutcome[];
  /** Attempts beyond the first, of all runs. */
  readonly retries: number;
  /** Attempts that reached their deadline. */
  readonly timeouts: number;
  readonly seconds: number;
}

export function isOk(run: RunOutcome): run is SuccessfulRun {
  return run.status === 'ok';
}
