/** The input and the output of a workflow. */
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

/** A rollout model with an `openai` client, and an address for every other client. */
export interface AgentModel extends RolloutModel<OpenAI> {
  /** Always the same endpoint; the calls that it serves are recorded by this model. */
  endpoint(): AgentEndpoint;
}

/**
 * Context of a workflow in one run, or in one group of runs if its definition says `canRepeat`.
 */
export interface WorkflowContext {
  readonly task: Task;
  /** The trained model; every call is recorded. */
  readonly model: AgentModel;
  /** Judges and other helper models by name; their calls are not trained on. */
  readonly auxiliaryModels: ReadonlyMap<string, AgentModel>;
  /** The reward function that the task names, if any. */
  readonly rewardFn?: RewardFn;
  readonly runtime: Runtime;
  /**
   * `explore step/task/run`: the id under which a pending reward is given. @default outside of a run
   * there is none
   */
  readonly runId?: string;
  /** How long this attempt may take, in milliseconds. @default no limit */
  readonly timeLimitMs?: number;
  /** Aborts when the attempt times out or the run stops. */
  readonly signal: AbortSignal;
}

/** The score of a run: its recorded calls become experiences with this reward. */
export interface WorkflowOutput {
  readonly reward: number;
  readonly metrics?: Metrics;
  readonly info?: Readonly<Record<string, unknown>>;
}

/** The reward of the recorded calls comes later, by the id of the run: `trinity reward`. */
export interface PendingOutput extends Omit<WorkflowOutput, 'reward'> {
  readonly pending: true;
  /** How long it may take, in milliseconds. @default `explorer.max_reward_delay` */
  readonly deadlineMs?: number;
}

/**
 * Experiences that the workflow created, or a score (a number is one) for the recorded calls, or that
 * the score is pending.
 */
export type WorkflowResult = readonly Experience[] | WorkflowOutput | PendingOutput | number;

/** A workflow created for a task. */
export interface WorkflowInstance {
  run(): Promise<WorkflowResult> | WorkflowResult;
  /** Prepares the instance for another task, if the definition says `canReset`. */
  reset?(context: WorkflowContext): void | Promise<void>;
  /**
   * Makes the next `run` perform `repeatTimes` runs, with ids from `runIdBase` on, if the
   * definition says `canRepeat`.
   */
  setRepeatTimes?(repeatTimes: number, runIdBase: number): void;
}

type AnyArgs = Readonly<Record<string, unknown>>;

/** Needs of a workflow besides the model, so that a configuration without it is refused. */
export interface WorkflowNeeds extends Needs {
  /** Needs that depend on `workflow_args`, which are valid. @default none */
  readonly byArgs?: (args: AnyArgs) => Needs;
  /** Reads the row of a task as a run does. @throws TaskError when it cannot @default any row fits */
  readonly readRow?: (task: Task) => void;
  /** Rows with a text under `format.prompt_key`. @default false */
  readonly prompt?: boolean;
  /**
   * Rows with an answer under `format.response_key`, unless the reward function that is set needs
   * none.
   * @default false
   */
  readonly truth?: boolean;
  /** A reward function; false also where the workflow has one of its own. @default false */
  readonly rewardFn?: boolean;
  /**
   * The argument that selects an auxiliary model, by name or position; by default the first one.
   * @default no auxiliary model is needed
   */
  readonly auxiliaryModel?: string;
  /**
   * The same for a model that the workflow can do without; the argument may be false as well. @default
   * none
   */
  readonly optionalModel?: string;
  /** Names of auxiliary models that these arguments, which are valid, ask for. @default none */
  readonly models?: (args: AnyArgs) => readonly string[];
}

export interface GraderContext {
  /** Names of the auxiliary models, in their order. */
  readonly models: readonly string[];
  readonly rewardFnArgs: AnyArgs;
}

export interface Grader {
  /** For people: `the judge qwen`. */
  readonly text: string;
  /** Hint for a user who may have meant another one. @default nothing */
  readonly warning?: string;
}

/** A workflow as the registry knows it. */
export interface WorkflowDefinition {
  readonly kind: 'trinity-rft.workflow';
  readonly name: string;
  /** Problems of `workflow_args`; absent: anything goes. */
  readonly checkArgs?: (args: AnyArgs) => readonly ArgProblem[];
  /** @default nothing */
  readonly needs?: WorkflowNeeds;
  /**
   * Generates rows for task sets with `storage_type: generated`; undefined where these arguments have
   * none.
   * @default it generates none
   * @throws TaskError when there are fewer tasks than wanted
   */
  readonly tasks?: (args: AnyArgs, range: TaskRange) => readonly RawTask[] | undefined;
  /**
   * Begins the task of a row and leaves it, as a check before the run. @throws TaskError for a row that
   * it cannot play
   * @default rows are not tried
   */
  readonly checkRow?: (task: Task, signal: AbortSignal) => Promise<void>;
  /**
   * Environment in which it plays with these arguments: when that fails again and again, all its runs wait.
   * @default the name of the workflow
   */
  readonly environment?: (args: AnyArgs) => string;
  /**
   * Grader of answers, where that depends on the auxiliary models of the run.
   * @default it does not
   */
  readonly grader?: (args: AnyArgs, context: GraderContext) => Grader | undefined;
  /**
   * It decides itself what is trained, so that a single run of a task teaches something, too.
   * @default false
   */
  readonly selects?: boolean;
  /** An instance can be reused for other tasks. */
  readonly canReset: boolean;
  /** One call of `run` performs all runs of a group. */
  readonly canRepeat: boolean;
  create(context: WorkflowContext): WorkflowInstance;
}
