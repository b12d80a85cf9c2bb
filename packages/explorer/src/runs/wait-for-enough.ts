/** Ends explore steps without waiting for their slowest tasks. */
import type { Clock } from '@trinity-rft/core';
import { isOk, type TaskOutcome } from './outcome.js';
import type { RunningTask } from './start-task.js';

/** Settings named as in the configuration's section `explorer.over_rollout`. */
export interface OverRollout {
  /**
   * Fraction of the tasks for which an explore step need not wait. With 0, the step waits for all
   * tasks.
   */
  readonly ratio: number;
  /** Milliseconds that the remaining tasks get after enough tasks have ended. */
  readonly waitAfterMinMs: number;
  /** True to use the finished rollouts of a task that was cut off. */
  readonly returnPartialTasks: boolean;
}

/** Returns the number of tasks that must have ended: `tasks` times (1 - ratio), rounded up. */
export const enoughTasks = (tasks: number, { ratio }: Pick<OverRollout, 'ratio'>): number =>
  // Corrects the rounding of the product, so that 0.9 * 10 tasks are 9.
  Math.ceil(tasks * (1 - ratio) - 1e-9);

/**
 * Returns the outcomes of all tasks, in their order. Once enough tasks have ended and the grace
 * period has passed, the remaining tasks are cut off.
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

/** The outcome of a task, reduced to the rollouts that are trained on. */
export interface UsableOutcome extends TaskOutcome {
  /** Number of successful rollouts that are not used, because the task was cut off. */
  readonly unusedRuns: number;
}

/**
 * Reduces an outcome to the rollouts that are trained on. The finished rollouts of a task that was
 * cut off are used if `returnPartialTasks` is true and there are enough of them to compare: a group
 * reduced to one rollout has no advantage signal.
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
