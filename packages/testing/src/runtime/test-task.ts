import { type Task, defaultFormatArgs } from '@trinity-rft/core';

/**
 * Creates a task for tests: task 0 of batch 1, which is row 0 of the task set "set", with two
 * rollouts by workflow "w".
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
