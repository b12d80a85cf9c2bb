/** What a workflow gets and what it may give back. */
import type { Experience, Metrics, RewardFn, RolloutModel, Runtime, Task } from '@trinity-rft/core';
import type OpenAI from 'openai';
import type { AgentEndpoint } from './agent-endpoint.js';

/** A rollout model with a client of the `openai` package, and an address for every other one. */
export interface AgentModel extends RolloutModel<OpenAI> {
  /** The same for every call; what it serves is recorded here. */
  endpoint(): AgentEndpoint;
}

/**
 * Everything a workflow may use in one run (or, when it repeats by itself, in one group of runs).
 */
export interface WorkflowContext {
  readonly task: Task;
  /** The model being trained; every call is recorded. */
  readonly model: AgentModel;
  /** Judges and helpers by name; their calls are not trained on. */
  readonly auxiliaryModels: ReadonlyMap<string, AgentModel>;
  /** The reward function the task names, if it names one. */
  readonly rewardFn?: RewardFn;
  readonly runtime: Runtime;
  /** Aborts when the attempt times out or the run stops. */
  readonly signal: AbortSignal;
}

/**
 * A score for everything the model did in the run: the recorded calls become experiences with this
 * reward.
 */
export interface WorkflowOutput {
  readonly reward: number;
  readonly metrics?: Metrics;
  readonly info?: Readonly<Record<string, unknown>>;
}

/** Experiences made by the workflow, or a score for the recorded ones; a bare number is a score. */
export type WorkflowResult = readonly Experience[] | WorkflowOutput | number;

/** One instance at work. */
export interface WorkflowInstance {
  run(): Promise<WorkflowResult> | WorkflowResult;
  /** Makes the instance ready for another task, when the definition says `canReset`. */
  reset?(context: WorkflowContext): void | Promise<void>;
  /**
   * The next `run` makes `repeatTimes` runs with ids from `runIdBase` on, when the definition says
   * `canRepeat`.
   */
  setRepeatTimes?(repeatTimes: number, runIdBase: number): void;
}

/** A workflow as the registry knows it. */
export interface WorkflowDefinition {
  readonly kind: 'trinity-rft.workflow';
  readonly name: string;
  /** An instance may serve several tasks. */
  readonly canReset: boolean;
  /** One `run` makes all runs of a group. */
  readonly canRepeat: boolean;
  create(context: WorkflowContext): WorkflowInstance;
}

/** A reward function as the registry knows it. */
export interface RewardDefinition {
  readonly kind: 'trinity-rft.reward';
  readonly name: string;
  create(args: Readonly<Record<string, unknown>>): RewardFn;
}
