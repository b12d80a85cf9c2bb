/** A workflow run by hand on one row: what a test or a first try needs instead of an explorer. */
import {
  createRuntime,
  defaultFormatArgs,
  type RawTask,
  type RewardFn,
  type Runtime,
  type Task,
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
  /**
   * Whatever else of the task matters: `formatArgs`, `workflowArgs`, `rolloutArgs`, `repeatTimes`.
   */
  readonly task?: Partial<Omit<Task, 'rawTask'>>;
  /** @default a silent one with the system clock */
  readonly runtime?: Runtime;
  readonly signal?: AbortSignal;
}

/** The context that the explorer would give. */
export function workflowContext({
  rawTask,
  model,
  auxiliaryModels = {},
  rewardFn,
  task,
  runtime,
  signal,
}: TryOptions): WorkflowContext {
  return {
    task: { ...plainTask, ...task, rawTask },
    model,
    auxiliaryModels: new Map(Object.entries(auxiliaryModels)),
    ...(rewardFn && { rewardFn }),
    runtime: runtime ?? createRuntime(),
    signal: signal ?? new AbortController().signal,
  };
}

/** One `run`, of all `task.repeatTimes` runs when the workflow repeats by itself. */
export async function tryWorkflow(
  definition: WorkflowDefinition,
  options: TryOptions,
): Promise<WorkflowResult> {
  const context = workflowContext(options);
  const instance = definition.create(context);
  if (definition.canRepeat) instance.setRepeatTimes?.(context.task.repeatTimes, 0);
  return instance.run();
}

const plainTask: Omit<Task, 'rawTask'> = {
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
