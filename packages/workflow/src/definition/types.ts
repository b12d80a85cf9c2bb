/** Input and output of a workflow. */
import type {
  ArgProblem,
  Experience,
  Metrics,
  Needs,
  RawTask,
  RewardFn,
  RolloutModel,
  Runtime,
  Task,
  TaskRange,
} from '@trinity-rft/core';
import type OpenAI from 'openai';
import type { AgentEndpoint } from './agent-endpoint.js';

/** A rollout model with an `openai` client, and an endpoint for every other client. */
export interface AgentModel extends RolloutModel<OpenAI> {
  /** Returns the same endpoint each time; a model that records calls also records its calls. */
  endpoint(): AgentEndpoint;
}

/** Context of a workflow in one run, or in one group of runs if its definition has `canRepeat`. */
export interface WorkflowContext {
  readonly task: Task;
  /** The trained model; all its calls are recorded. */
  readonly model: AgentModel;
  /** Judges and other helper models by name; their calls are not trained on. */
  readonly auxiliaryModels: ReadonlyMap<string, AgentModel>;
  /** Reward function that the task names, if any. */
  readonly rewardFn?: RewardFn;
  readonly runtime: Runtime;
  /**
   * Id under which a pending reward is submitted: `explore step/task/run`.
   * @default undefined outside a run
   */
  readonly runId?: string;
  /** Maximum number of milliseconds for this attempt. @default no limit */
  readonly timeLimitMs?: number;
  /** Aborts when the attempt ends, times out or is cut off, and when the run stops. */
  readonly signal: AbortSignal;
}

/** Score of a run: its recorded calls become experiences with this reward. */
export interface WorkflowOutput {
  readonly reward: number;
  readonly metrics?: Metrics;
  readonly info?: Readonly<Record<string, unknown>>;
}

/** Result of a run whose reward is submitted later, under the run's id, with `trinity reward`. */
export interface PendingOutput extends Omit<WorkflowOutput, 'reward'> {
  readonly pending: true;
  /** Maximum number of milliseconds to wait for the reward. @default `explorer.max_reward_delay` */
  readonly deadlineMs?: number;
}

/**
 * Result of a workflow: experiences that it created, or, for its recorded calls, a score, just the
 * reward of a score, or the notice that the score is pending.
 */
export type WorkflowResult = readonly Experience[] | WorkflowOutput | PendingOutput | number;

/** A workflow created for a task. */
export interface WorkflowInstance {
  run(): Promise<WorkflowResult> | WorkflowResult;
  /** Prepares the instance for another task, if the definition has `canReset`. */
  reset?(context: WorkflowContext): void | Promise<void>;
  /**
   * Makes the next `run` perform `repeatTimes` runs, with ids from `runIdBase` on, if the
   * definition has `canRepeat`.
   */
  setRepeatTimes?(repeatTimes: number, runIdBase: number): void;
}

type AnyArgs = Readonly<Record<string, unknown>>;

/** Needs of a workflow besides the model. A configuration that does not meet them is refused. */
export interface WorkflowNeeds extends Needs {
  /** Needs that depend on `workflow_args`, which are already validated. @default no further needs */
  readonly byArgs?: (args: AnyArgs) => Needs;
  /**
   * Reads the row of a task as a run does.
   * @default any row fits
   * @throws TaskError if the row cannot be read
   */
  readonly readRow?: (task: Task) => void;
  /** True if rows must have a text under `format.prompt_key`. @default false */
  readonly prompt?: boolean;
  /**
   * True if rows must have an answer under `format.response_key`, unless the configured reward
   * function needs no answer.
   * @default false
   */
  readonly truth?: boolean;
  /**
   * True if a reward function must be configured; false if the workflow has a default one.
   * @default false
   */
  readonly rewardFn?: boolean;
  /**
   * Name of the argument that selects an auxiliary model by name or position. Without the argument,
   * the workflow uses the first model.
   * @default no auxiliary model is needed
   */
  readonly auxiliaryModel?: string;
  /**
   * Like `auxiliaryModel`, for a model that is optional: the argument may also be false.
   * @default no optional model
   */
  readonly optionalModel?: string;
  /** Names of the auxiliary models that these validated arguments require. @default no models */
  readonly models?: (args: AnyArgs) => readonly string[];
}

export interface GraderContext {
  /** Names of the auxiliary models, in configured order. */
  readonly models: readonly string[];
  readonly rewardFnArgs: AnyArgs;
}

export interface Grader {
  /** Description for people: `the judge qwen`. */
  readonly text: string;
  /** Hint for users who may have meant another grader. @default no hint */
  readonly warning?: string;
}

/** A workflow as it is registered. */
export interface WorkflowDefinition {
  readonly kind: 'trinity-rft.workflow';
  readonly name: string;
  /** Lists the problems of `workflow_args`. @default any arguments are accepted */
  readonly checkArgs?: (args: AnyArgs) => readonly ArgProblem[];
  /** @default no needs */
  readonly needs?: WorkflowNeeds;
  /**
   * Generates rows for task sets with `storage_type: generated`; undefined if there are none for
   * these arguments.
   * @default no rows are generated
   * @throws TaskError if fewer tasks exist than requested
   */
  readonly tasks?: (args: AnyArgs, range: TaskRange) => readonly RawTask[] | undefined;
  /**
   * Begins the task of a row and ends it at once, as a check before the run.
   * @default rows are not tried
   * @throws TaskError for a row that the workflow cannot play
   */
  readonly checkRow?: (task: Task, signal: AbortSignal) => Promise<void>;
  /**
   * Name of the environment that the workflow uses with these arguments: if the environment fails
   * repeatedly, all runs that use it wait.
   * @default the name of the workflow
   */
  readonly environment?: (args: AnyArgs) => string;
  /**
   * Describes the grader of answers, if it depends on the auxiliary models of the run.
   * @default the grader does not depend on them
   */
  readonly grader?: (args: AnyArgs, context: GraderContext) => Grader | undefined;
  /**
   * True if the workflow itself decides what is trained on, so that even a single run per task can
   * be learned from.
   * @default false
   */
  readonly selects?: boolean;
  /** True if an instance can be reused for other tasks. */
  readonly canReset: boolean;
  /** True if one call of `run` performs all runs of a group. */
  readonly canRepeat: boolean;
  create(context: WorkflowContext): WorkflowInstance;
}
