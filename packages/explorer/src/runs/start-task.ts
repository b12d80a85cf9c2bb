/** Starts tasks. Tasks in progress can be cut off. */
import { ConfigError, type RewardFn, type Runtime, type Task } from '@trinity-rft/core';
import type { WorkflowDefinition } from '@trinity-rft/workflow';
import pLimit from 'p-limit';
import type { EnvironmentCircuits } from './environment-circuits.js';
import type { TaskOutcome } from './outcome.js';
import { createInstancePool, type AttemptOptions, type RunSettings } from './run-attempt.js';
import { runTask } from './run-task.js';
import { cutOffError } from './task-end.js';

export interface RunningTask {
  readonly task: Task;
  /**
   * Outcome of the task. The promise rejects when the explorer is stopped, with an EnvironmentError
   * if the environment has failed for too long, and with a ConfigError if the environment cannot be
   * played as it is configured.
   */
  readonly outcome: Promise<TaskOutcome>;
  /** Cancels unfinished rollouts. Finished rollouts keep their outcomes. */
  cutOff(): void;
}

export type StartTask = (task: Task, onRunsEnded?: (count: number) => void) => RunningTask;

export interface StartTaskOptions extends Pick<
  AttemptOptions,
  'createModel' | 'timeLimit' | 'onLateResult' | 'rewardDeadline'
> {
  /**
   * Settings of rollouts. `concurrency` is the maximum number of attempts in progress, over all
   * tasks.
   */
  readonly settings: RunSettings & { readonly concurrency: number };
  readonly workflow: (name: string) => WorkflowDefinition;
  readonly rewardFn: (task: Task) => RewardFn | undefined;
  /** Circuit breakers of the environments, which all tasks share. */
  readonly circuits: EnvironmentCircuits;
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
}

/**
 * Creates a function that starts tasks. All tasks share the maximum number of concurrent attempts
 * and the pool of idle workflow instances.
 */
export function taskStarter(options: StartTaskOptions): StartTask {
  const { settings, createModel, timeLimit, onLateResult, rewardDeadline } = options;
  const { circuits, runtime, signal } = options;
  const limit = pLimit(settings.concurrency);
  const pool = createInstancePool();
  const attempts = { settings, createModel, timeLimit, onLateResult, rewardDeadline };
  const shared = { ...attempts, limit, pool, circuits, runtime, signal };
  return (task, onRunsEnded) => {
    const cut = new AbortController();
    const definition = options.workflow(task.workflow);
    const outcome = runTask(task, {
      ...shared,
      definition,
      rewardFn: options.rewardFn(task),
      cutOff: cut.signal,
      onRunsEnded,
    }).then((ended) => (definition.environment ? playable(ended) : ended));
    // The promise is awaited when its step is finished. Before that, a failure must not be reported
    // as unhandled.
    outcome.catch(() => undefined);
    return { task, outcome, cutOff: () => cut.abort(cutOffError()) };
  };
}

/**
 * Returns the outcome. @throws ConfigError if the environment could not be opened because of a
 * mistake in the configuration: all runs in it would fail, and their evaluation would say nothing
 * about the policy. A mistake in one row fails the runs of that row.
 */
function playable(outcome: TaskOutcome): TaskOutcome {
  for (const run of outcome.runs)
    if (
      run.status === 'failed' &&
      run.error instanceof ConfigError &&
      run.error.details['isOfAllRows'] === true
    ) {
      const { taskset, row } = outcome.task.index;
      throw new ConfigError(`Row ${row} of task set "${taskset}" cannot be played.`, {
        code: run.error.code,
        cause: run.error,
      });
    }
  return outcome;
}
