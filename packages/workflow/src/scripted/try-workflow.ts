/** Executes a workflow on one row, without an explorer, for tests and experiments. */
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
  /** Auxiliary models by name. @default no auxiliary models */
  readonly auxiliaryModels?: Readonly<Record<string, AgentModel>>;
  readonly rewardFn?: RewardFn;
  /** Other fields of the task, such as `formatArgs`, `workflowArgs` and `repeatTimes`. */
  readonly task?: Partial<Omit<Task, 'rawTask'>>;
  /** Provides time and randomness. @default a silent runtime with the system clock */
  readonly runtime?: Runtime;
  /** Time limit of the attempt, in milliseconds. @default no limit */
  readonly timeLimitMs?: number;
  readonly signal?: AbortSignal;
}

/** Creates the same context for a workflow as the explorer. */
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

/**
 * Executes a workflow on one row, with a single call of `run`. For a workflow with `canRepeat`,
 * this call performs all `task.repeatTimes` rollouts.
 */
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
