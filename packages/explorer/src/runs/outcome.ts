/** The outcome of a task and of each of its rollouts. */
import type { Task } from '@trinity-rft/core';
import type { FailureKind } from './classify-failure.js';
import type { FinishedRun } from './finish-runs.js';

export type RunOutcome = SuccessfulRun | FailedRun;

export interface SuccessfulRun extends FinishedRun {
  readonly status: 'ok';
  readonly seconds: number;
  /**
   * Error of the agent, if it failed and the rollout counts as successful with the failure reward.
   */
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
  /** Outcomes in the order of the rollouts. */
  readonly runs: readonly RunOutcome[];
  /** Number of attempts beyond the first of each rollout, summed over all rollouts. */
  readonly retries: number;
  /** Number of attempts that reached their deadline. */
  readonly timeouts: number;
  /** Number of attempts that ended because the environment failed. @default 0 */
  readonly environmentFailures?: number;
  /**
   * Seconds that the task's rollouts waited for a failing environment. They are not part of
   * `seconds`.
   * @default 0
   */
  readonly environmentWaitSeconds?: number;
  /**
   * Durations of the task's attempts, for the time limits of later attempts.
   * @default not recorded
   */
  readonly attempts?: readonly AttemptTime[];
  /**
   * True if the explore step did not wait for all rollouts. Unfinished rollouts have the kind
   * `cancelled`.
   * @default false
   */
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

/** Returns the keys that at least one rollout reports. */
export const reportedKeys = (outcomes: readonly TaskOutcome[]): ReadonlySet<string> =>
  new Set(
    outcomes.flatMap(({ runs }) => runs.filter(isOk).flatMap((run) => Object.keys(run.metrics))),
  );

/**
 * Returns the value of a key in an evaluation. A rollout that failed or does not report the key
 * counts as 0, so that failures cannot raise a score.
 */
export const countedValue = (run: RunOutcome, key: string): number =>
  isOk(run) ? (run.metrics[key] ?? 0) : 0;
