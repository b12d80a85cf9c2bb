import { type Task, defaultFormatArgs } from '@trinity-rft/core';

/**
 * Creates task 0 of batch 1: row 0 of the task set "set", to be rolled out twice by workflow "w".
 */
export const testTask = (over: Partial<Task> = {}): Task => ({
  taskId: 0,
  batchId: 1,
  workflow: 'w',
  rawTask: {},
  formatArgs: defaultFormatArgs,
  rolloutArgs: {},
  workflowArgs: {},
  rewardFnArgs: {},
  repeatTimes: 2,
  isEval: false,
  index: { taskset: 'set', row: 0 },
  ...over,
});
