/** Converts rows of a task set to tasks. */
import type { Task } from '@trinity-rft/core';
import type { FormatArgs, RolloutArgs } from '@trinity-rft/core/internal';
import type { TaskRow } from '@trinity-rft/core/store';

/** Settings for all tasks of one set, named as in a task set of the configuration. */
export interface TasksetSettings {
  readonly name: string;
  /** Workflow of rows that name no workflow. @default "" */
  readonly workflow?: string;
  /** Reward function of rows that name no reward function. @default no reward function */
  readonly rewardFn?: string;
  readonly format: FormatArgs;
  readonly rolloutArgs: RolloutArgs;
  readonly workflowArgs: Readonly<Record<string, unknown>>;
  readonly rewardFnArgs: Readonly<Record<string, unknown>>;
  readonly repeatTimes: number;
}

export interface TaskPlace {
  readonly batchId: number | string;
  readonly taskId: number;
  readonly isEval: boolean;
}

/**
 * Converts a row to a task. A row may name its own workflow and reward function, under
 * `format.workflow_key` and `format.reward_fn_key`.
 */
export function toTask(
  { row, rawTask }: TaskRow,
  settings: TasksetSettings,
  place: TaskPlace,
): Task {
  const { format } = settings;
  const rewardFn = namedIn(rawTask, format.rewardFnKey) ?? settings.rewardFn;
  return {
    ...place,
    workflow: namedIn(rawTask, format.workflowKey) ?? settings.workflow ?? '',
    rewardFn,
    rawTask,
    formatArgs: format,
    rolloutArgs: settings.rolloutArgs,
    workflowArgs: settings.workflowArgs,
    rewardFnArgs: settings.rewardFnArgs,
    repeatTimes: settings.repeatTimes,
    index: { taskset: settings.name, row },
  };
}

function namedIn(rawTask: TaskRow['rawTask'], key: string | undefined): string | undefined {
  const value = key ? rawTask[key] : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
}
