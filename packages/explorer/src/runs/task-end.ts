/**
 * Ends the wait for a task's rollouts at a cut-off or at the task's deadline, although some of them
 * are still in progress.
 */
import { type Clock, CancelledError } from '@trinity-rft/core';

export interface TaskEnd {
  /** Signal that aborts with a CancelledError when the task is cut off or its deadline passes. */
  readonly signal: AbortSignal;
  /** Called when an attempt begins. The first attempt starts the task's deadline. */
  begin(): void;
  /** Cancels the task's deadline. Called when all rollouts have ended. */
  close(): void;
}

export interface TaskEndOptions {
  /** Maximum number of milliseconds from the first attempt on. @default no limit */
  readonly maxTaskTimeoutMs?: number;
  /** Signal that cuts off the task. @default no signal */
  readonly cutOff?: AbortSignal;
  readonly clock: Pick<Clock, 'after'>;
}

export function createTaskEnd({ maxTaskTimeoutMs, cutOff, clock }: TaskEndOptions): TaskEnd {
  const late = new AbortController();
  let cancel: (() => void) | undefined;
  return {
    signal: cutOff ? AbortSignal.any([cutOff, late.signal]) : late.signal,
    begin: () => {
      if (maxTaskTimeoutMs === undefined) return;
      cancel ??= clock.after(maxTaskTimeoutMs, () => late.abort(taskTimeout(maxTaskTimeoutMs)));
    },
    close: () => cancel?.(),
  };
}

const taskTimeout = (ms: number): CancelledError =>
  new CancelledError(
    `The runs of the task took longer than ${ms / 1000} s together (explorer.max_task_timeout). Those that had ended count.`,
    { reason: 'timeout', code: 'TASK_TIMEOUT' },
  );

/** Creates the error for a task that its explore step does not wait for. */
export const cutOffError = (): CancelledError =>
  new CancelledError('The explore step did not wait for it (explorer.over_rollout).', {
    reason: 'aborted',
    code: 'TASK_CUT_OFF',
  });
