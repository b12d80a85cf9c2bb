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
 * Context of a workflow, for one rollout, or for a group of rollouts if the workflow's definition
 * has `canRepeat`.
 */
export interface WorkflowContext {
  readonly task: Task;
  /** The trained model. All its calls are recorded. */
  readonly model: AgentModel;
  /** Auxiliary models (judges, for example) by name. Their calls are not trained on. */
  readonly auxiliaryModels: ReadonlyMap<string, AgentModel>;
  /** Reward function of the task; undefined if the task has none. */
  readonly rewardFn?: RewardFn;
  readonly runtime: Runtime;
  /**
   * Id of the rollout, `explore step/task/run`, under which a pending reward is submitted later.
   * @default undefined: the workflow does not run in a rollout
   */
  readonly runId?: string;
  /** Time limit of this attempt, in milliseconds. @default no limit */
  readonly timeLimitMs?: number;
  /**
   * Signal that aborts when the attempt ends, reaches its time limit or is cut off, and when the
   * training run stops.
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
 * Result of a rollout whose reward is not known yet. It is submitted later with `trinity reward`,
 * under the id of the rollout.
 */
export interface PendingOutput extends Omit<WorkflowOutput, 'reward'> {
  readonly pending: true;
  /** Maximum time to wait for the reward, in milliseconds. @default `explorer.max_reward_delay` */
  readonly deadlineMs?: number;
}

/**
 * Result of a workflow: experiences that the workflow created itself, or a score, a reward or the
 * notice of a pending reward for the recorded calls.
 */
export type WorkflowResult = readonly Experience[] | WorkflowOutput | PendingOutput | number;

/** Instance of a workflow, which was created for a task and may be reused for others. */
export interface WorkflowInstance {
  run(): Promise<WorkflowResult> | WorkflowResult;
  /** Prepares the instance for another task. Called only if the definition has `canReset`. */
  reset?(context: WorkflowContext): void | Promise<void>;
  /**
   * Makes the next `run` perform `repeatTimes` rollouts, which are numbered from `runIdBase` on.
   * Called only if the definition has `canRepeat`.
   */
  setRepeatTimes?(repeatTimes: number, runIdBase: number): void;
}

type AnyArgs = Readonly<Record<string, unknown>>;

/**
 * Requirements of a workflow, in addition to a model. A configuration that does not meet them is
 * refused.
 */
export interface WorkflowNeeds extends Needs {
  /**
   * Returns requirements that depend on validated `workflow_args`. @default no further requirements
   */
  readonly byArgs?: (args: AnyArgs) => Needs;
  /**
   * Checks the row of a task, by parsing it in the same way as a rollout does.
   * @default undefined: rows are not checked
   * @throws TaskError if the row is not valid
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
  /** Settings of `format` that the workflow ignores, and the reward function. @default none */
  readonly unread?: readonly ('systemPrompt' | 'systemPromptKey' | 'replyPrefix' | 'rewardFn')[];
  /** Names of arguments that the workflow ignores if a reward function is configured. @default none */
  readonly ofDefaultReward?: readonly string[];
  /**
   * Name of the argument that selects an auxiliary model by name or index. If the argument is not
   * set, the workflow uses the first auxiliary model.
   * @default undefined: the workflow uses no auxiliary model
   */
  readonly auxiliaryModel?: string;
  /**
   * Name of an argument that selects an auxiliary model by name or index, or is false for no model.
   * @default undefined: there is no such argument
   */
  readonly optionalModel?: string;
  /**
   * Returns the names of auxiliary models that must be configured for these validated arguments.
   * @default none
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
  /**
   * Returns the problems of `workflow_args`; an empty list if they are valid.
   * @default undefined: arguments are not checked
   */
  readonly checkArgs?: (args: AnyArgs) => readonly ArgProblem[];
  /** Requirements of the workflow. @default no requirements */
  readonly needs?: WorkflowNeeds;
  /**
   * Generates rows for task sets with `storage_type: generated`. Returns undefined if no rows can
   * be generated with these arguments.
   * @default undefined: the workflow cannot generate rows
   * @throws TaskError if fewer tasks exist than requested
   */
  readonly tasks?: (args: AnyArgs, range: TaskRange) => readonly RawTask[] | undefined;
  /**
   * Checks a row before the training run, by starting its task and ending it at once.
   * @param models names of the auxiliary models, in configured order; if they are not given, the
   * check assumes that there is one
   * @param warn called with the reason if the row could not be checked
   * @default undefined: rows are not checked
   * @throws TaskError for a row that the workflow cannot attempt
   */
  readonly checkRow?: (
    task: Task,
    signal: AbortSignal,
    models?: GraderContext['models'],
    warn?: (reason: string) => void,
  ) => Promise<void>;
  /**
   * Returns the name of the environment that the workflow uses with these arguments. If an
   * environment fails repeatedly, all rollouts that use it are paused.
   * @default the name of the workflow
   */
  readonly environment?: (args: AnyArgs) => string;
  /**
   * Describes what grades the answers, if this depends on the auxiliary models of the training run.
   * @default undefined: the grader is always the same
   */
  readonly grader?: (args: AnyArgs, context: GraderContext) => Grader | undefined;
  /**
   * True if the workflow itself selects the experiences to train on. A group with a single rollout
   * then has a training signal too.
   * @default false
   */
  readonly selects?: boolean;
  /** True if an instance can be reused for other tasks. */
  readonly canReset: boolean;
  /** True if one call of `run` performs all rollouts of a group. */
  readonly canRepeat: boolean;
  create(context: WorkflowContext): WorkflowInstance;
}
