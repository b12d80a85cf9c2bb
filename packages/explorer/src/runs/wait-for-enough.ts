/** Not waiting for the slowest tasks of an explore step. */
import type { Clock } from '@trinity-rft/core';
import { isOk, type TaskOutcome } from './outcome.js';
import type { RunningTask } from './start-task.js';

/** Settings of the section `explorer.over_rollout` of a configuration, by its names. */
export interface OverRollout {
  /** The share of the tasks that need not end; 0 = wait for all. */
  readonly ratio: number;
  /** Grace for the others once enough have ended. */
  readonly waitAfterMinMs: number;
  /** Use the runs of an unfinished task that have ended. */
  readonly returnPartialTasks: boolean;
}

/** How many of `tasks` tasks must have ended: (1 - ratio) of them, rounded up. */
export const enoughTasks = (tasks: number, { ratio }: Pick<OverRollout, 'ratio'>): number =>
  // 0.9 * 10 tasks are 9, whatever the rounding of the product.
  Math.ceil(tasks * (1 - ratio) - 1e-9);

/**
 * The outcomes of all tasks, in their order: once enough have ended and the grace has passed, the
 * others are cut off.
 */
export async function waitForEnough(
  running: readonly RunningTask[],
  overRollout: OverRollout,
  clock: Pick<Clock, 'after'>,
): Promise<readonly TaskOutcome[]> {
  const enough = enoughTasks(running.length, overRollout);
  let ended = 0;
  let cancel: (() => void) | undefined;
  const onEnd = (): void => {
    ended += 1;
    if (ended !== enough || ended === running.length) return;
    cancel = clock.after(overRollout.waitAfterMinMs, () =>
      running.forEach((task) => task.cutOff()),
    );
  };
  for (const { outcome } of running) outcome.then(onEnd, () => undefined);
  try {
    return await Promise.all(running.map(({ outcome }) => outcome));
  } finally {
    cancel?.();
  }
}

/** Part of an outcome that is trained on. */
export interface UsableOutcome extends TaskOutcome {
  /** Runs that had ended well when the task was cut off, and are not used. */
  readonly unusedRuns: number;
}

/**
 * Part of an outcome that is trained on. Of a task that was cut off, the runs that had ended are used if `returnPartialTasks` says so and
 * they can be compared: one run alone of several says nothing.
 */
export function usableOutcome(
  outcome: TaskOutcome,
  { returnPartialTasks }: Pick<OverRollout, 'returnPartialTasks'>,
): UsableOutcome {
  const ended = outcome.runs.filter(isOk).length;
  const isComparable = ended >= Math.min(2, outcome.task.repeatTimes);
  if (outcome.isCutOff !== true || (returnPartialTasks && isComparable))
    return { ...outcome, unusedRuns: 0 };
  return { ...outcome, runs: outcome.runs.filter((run) => !isOk(run)), unusedRuns: ended };
}
