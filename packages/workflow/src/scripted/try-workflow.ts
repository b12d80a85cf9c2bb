/** Runs a workflow on one row without an explorer, for tests and first tries. */
import {
  createRuntime,
  type RawTask,
  type RewardFn,
  type Runtime,
  type Task,
  defaultFormatArgs,
} from '@trinity-rft/core';
import type {
  AgentModel,
  WorkflowContext,
  WorkflowDefinition,
  WorkflowResult,
} from '../definition/types.js';

export interface TryOptions {
  readonly rawTask: RawTask;
  readonly model: AgentModel;
  /** @default none */
  readonly auxiliaryModels?: Readonly<Record<string, AgentModel>>;
  readonly rewardFn?: RewardFn;
  /** Other fields of the task: `formatArgs`, `workflowArgs`, `rolloutArgs`, `repeatTimes` ... */
  readonly task?: Partial<Omit<Task, 'rawTask'>>;
  /** @default silent, with the system clock */
  readonly runtime?: Runtime;
  /** @default no limit */
  readonly timeLimitMs?: number;
  readonly signal?: AbortSignal;
}

/** The context that the explorer would pass. */
export function workflowContext({
  rawTask,
  model,
  auxiliaryModels = {},
  rewardFn,
  task,
  runtime,
  timeLimitMs,
  signal,
}: TryOptions): WorkflowContext {
  return {
    task: { ...defaultTask, ...task, rawTask },
    model,
    auxiliaryModels: new Map(Object.entries(auxiliaryModels)),
    rewardFn,
    runtime: runtime ?? createRuntime(),
    timeLimitMs,
    signal: signal ?? new AbortController().signal,
  };
}

/** One call of `run`, which performs all `task.repeatTimes` runs of a workflow with `canRepeat`. */
export async function tryWorkflow(
  definition: WorkflowDefinition,
  options: TryOptions,
): Promise<WorkflowResult> {
  const context = workflowContext(options);
  const instance = definition.create(context);
  if (definition.canRepeat) instance.setRepeatTimes?.(context.task.repeatTimes, 0);
  return instance.run();
}

const defaultTask: Omit<Task, 'rawTask'> = {
  taskId: 0,
  batchId: 1,
  workflow: 'tried',
  formatArgs: defaultFormatArgs,
  rolloutArgs: {},
  workflowArgs: {},
  rewardFnArgs: {},
  repeatTimes: 1,
  isEval: false,
  index: { taskset: 'tried', row: 0 },
};
