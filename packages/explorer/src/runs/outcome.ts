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
  /** Attempts that the environment ended by failing. @default 0 */
  readonly environmentFailures?: number;
  /** How long its runs waited for an environment that fails; not part of `seconds`. @default 0 */
  readonly environmentWaitSeconds?: number;
  /** How long its attempts took, for the limit of later ones. @default nothing is known */
  readonly attempts?: readonly AttemptTime[];
  /** The explore step did not wait for the runs that have the kind `cancelled`. @default false */
  readonly isCutOff?: boolean;
  readonly seconds: number;
}

/** An attempt that succeeded, or that reached its deadline. */
export interface AttemptTime {
  readonly seconds: number;
  readonly isLate: boolean;
}

export function isOk(run: RunOutcome): run is SuccessfulRun {
  return run.status === 'ok';
}
