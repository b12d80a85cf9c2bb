/** Types of the input and output of a workflow. */
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

/** A rollout model with a client of the `openai` package, and an endpoint for other clients. */
export interface AgentModel extends RolloutModel<OpenAI> {
  /**
   * Returns the endpoint of the model. Repeated calls return the same endpoint. A model that
   * records calls also records the calls of its endpoint.
   */
  endpoint(): AgentEndpoint;
}

/**
 * Context of a workflow in one rollout, or in one group of rollouts if its definition has
 * `canRepeat`.
 */
export interface WorkflowContext {
  readonly task: Task;
  /** The trained model. All its calls are recorded. */
  readonly model: AgentModel;
  /** Judges and other auxiliary models by name. Their calls are not trained on. */
  readonly auxiliaryModels: ReadonlyMap<string, AgentModel>;
  /** Reward function that the task names; undefined if the task names none. */
  readonly rewardFn?: RewardFn;
  readonly runtime: Runtime;
  /**
   * Id of the rollout, under which a pending reward is submitted: `explore step/task/run`.
   * @default undefined outside a rollout
   */
  readonly runId?: string;
  /** Maximum number of milliseconds for this attempt. @default no limit */
  readonly timeLimitMs?: number;
  /**
   * Signal that aborts when the attempt ends, times out or is cut off, and when the training run
   * stops.
   */
  readonly signal: AbortSignal;
}

/** Score of a rollout. The recorded calls of the rollout become experiences with this reward. */
export interface WorkflowOutput {
  readonly reward: number;
  readonly metrics?: Metrics;
  readonly info?: Readonly<Record<string, unknown>>;
}

/**
 * Result of a rollout whose reward is submitted later, under the rollout's id, with `trinity
 * reward`.
 */
export interface PendingOutput extends Omit<WorkflowOutput, 'reward'> {
  readonly pending: true;
  /** Maximum number of milliseconds to wait for the reward. @default `explorer.max_reward_delay` */
  readonly deadlineMs?: number;
}

/**
 * Result of a workflow. It is a list of experiences that the workflow created, or a result for the
 * recorded calls: a score, a bare reward, or the notice that the reward is pending.
 */
export type WorkflowResult = readonly Experience[] | WorkflowOutput | PendingOutput | number;

/** A workflow that was created for a task. */
export interface WorkflowInstance {
  run(): Promise<WorkflowResult> | WorkflowResult;
  /** Prepares the instance for another task, if the definition has `canReset`. */
  reset?(context: WorkflowContext): void | Promise<void>;
  /**
   * Makes the next `run` perform `repeatTimes` rollouts, with numbers from `runIdBase` on, if the
   * definition has `canRepeat`.
   */
  setRepeatTimes?(repeatTimes: number, runIdBase: number): void;
}

type AnyArgs = Readonly<Record<string, unknown>>;

/**
 * Requirements of a workflow, in addition to the model. A configuration that does not meet these
 * requirements is refused.
 */
export interface WorkflowNeeds extends Needs {
  /**
   * Returns requirements that depend on validated `workflow_args`. @default no further requirements
   */
  readonly byArgs?: (args: AnyArgs) => Needs;
  /**
   * Checks the row of a task by reading the row as a rollout does.
   * @default no check of the rows
   * @throws TaskError if the row cannot be read
   */
  readonly readRow?: (task: Task) => void;
  /** True if rows must have a text under `format.prompt_key`. @default false */
  readonly prompt?: boolean;
  /**
   * True if rows must have a reference answer under `format.response_key`. The answer is not
   * required if the configured reward function does not need it.
   * @default false
   */
  readonly truth?: boolean;
  /**
   * True if a reward function must be configured; false if the workflow has a default reward
   * function.
   * @default false
   */
  readonly rewardFn?: boolean;
  /** Fixed texts of `format`, and the reward function, if they have no effect. @default none */
  readonly unread?: readonly ('systemPrompt' | 'systemPromptKey' | 'replyPrefix' | 'rewardFn')[];
  /** Names of arguments that have an effect only without a reward function. @default no names */
  readonly ofDefaultReward?: readonly string[];
  /**
   * Name of the argument that selects an auxiliary model by name or position. If the argument is
   * not set, the workflow uses the first model.
   * @default no auxiliary model
   */
  readonly auxiliaryModel?: string;
  /**
   * Name of the argument that selects an optional auxiliary model. The argument may also be false.
   * @default no optional model
   */
  readonly optionalModel?: string;
  /**
   * Returns the names of the auxiliary models that validated arguments require. @default no models
   */
  readonly models?: (args: AnyArgs) => readonly string[];
}

export interface GraderContext {
  /** Names of the auxiliary models, in configured order. */
  readonly models: readonly string[];
  readonly rewardFnArgs: AnyArgs;
}

export interface Grader {
  /** Description for users, such as `the judge qwen`. */
  readonly text: string;
  /** Hint for users who may have meant another grader. @default no hint */
  readonly warning?: string;
}

/** A workflow as it is registered. */
export interface WorkflowDefinition {
  readonly kind: 'trinity-rft.workflow';
  readonly name: string;
  /** Lists the problems of `workflow_args`. @default no check of the arguments */
  readonly checkArgs?: (args: AnyArgs) => readonly ArgProblem[];
  /** Requirements of the workflow. @default no needs */
  readonly needs?: WorkflowNeeds;
  /**
   * Generates rows for task sets with `storage_type: generated`. Returns undefined if no rows can
   * be generated with these arguments.
   * @default no generated rows
   * @throws TaskError if fewer tasks exist than requested
   */
  readonly tasks?: (args: AnyArgs, range: TaskRange) => readonly RawTask[] | undefined;
  /**
   * Begins the task of a row and ends the task at once, as a check before the training run.
   * @param models names of the auxiliary models, in configured order; if they are not given, the
   * check assumes that there is one
   * @default no check of the rows
   * @throws TaskError for a row that the workflow cannot attempt
   */
  readonly checkRow?: (
    task: Task,
    signal: AbortSignal,
    models?: GraderContext['models'],
  ) => Promise<void>;
  /**
   * Returns the name of the environment that the workflow uses with these arguments. If the
   * environment fails repeatedly, all rollouts that use it wait.
   * @default the name of the workflow
   */
  readonly environment?: (args: AnyArgs) => string;
  /**
   * Describes the grader of answers, if the grader depends on the auxiliary models of the training
   * run.
   * @default no choice of graders
   */
  readonly grader?: (args: AnyArgs, context: GraderContext) => Grader | undefined;
  /**
   * True if the workflow itself selects the experiences to train on, so that even a single rollout
   * per task gives a training signal.
   * @default false
   */
  readonly selects?: boolean;
  /** True if an instance can be reused for other tasks. */
  readonly canReset: boolean;
  /** True if one call of `run` performs all rollouts of a group. */
  readonly canRepeat: boolean;
  create(context: WorkflowContext): WorkflowInstance;
}
