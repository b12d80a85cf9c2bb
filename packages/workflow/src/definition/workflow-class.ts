/** Base class of workflows that are written as classes. */
import {
  type Experience,
  type Metrics,
  type RewardFn,
  type Runtime,
  type Task,
  withFields,
} from '@trinity-rft/core';
import type { AgentModel, WorkflowContext, WorkflowResult } from './types.js';

export interface RunScore {
  readonly reward: number;
  /** Index of the rollout within its group. @default 0 */
  readonly index?: number;
  readonly metrics?: Metrics;
}

/**
 * Base class of workflows. `run` uses `this.model` to solve `this.task`, and returns experiences or
 * a score. After a reset, `this.task` and `this.model` are those of the new task.
 */
export abstract class Workflow {
  /**
   * True if an instance may be reused for another task. `reset(task)` is then called before that
   * task.
   */
  static readonly canReset: boolean = false;
  /**
   * True if one call of `run` performs all rollouts of a group. `setRepeatTimes` is then called
   * before `run`.
   */
  static readonly canRepeat: boolean = false;

  protected repeatTimes = 1;
  protected runIdBase = 0;
  #context: WorkflowContext;

  constructor(context: WorkflowContext) {
    this.#context = context;
  }

  protected get context(): WorkflowContext {
    return this.#context;
  }
  protected get task(): Task {
    return this.#context.task;
  }
  protected get model(): AgentModel {
    return this.#context.model;
  }
  protected get auxiliaryModels(): ReadonlyMap<string, AgentModel> {
    return this.#context.auxiliaryModels;
  }
  protected get rewardFn(): RewardFn | undefined {
    return this.#context.rewardFn;
  }
  protected get runtime(): Runtime {
    return this.#context.runtime;
  }
  protected get signal(): AbortSignal {
    return this.#context.signal;
  }

  abstract run(): Promise<WorkflowResult> | WorkflowResult;

  /**
   * Returns the model calls that were recorded since the previous call of this method, as
   * experiences of one rollout. If a workflow with `canRepeat` performs its rollouts one after the
   * other, it must pass the `index` of each rollout.
   */
  protected recorded({ reward, index = 0, metrics = {} }: RunScore): readonly Experience[] {
    return this.model.extractExperiencesFromHistory().map((experience) =>
      withFields(experience, {
        reward,
        eid: { ...experience.eid, run: this.runIdBase + index },
        metrics: { ...experience.metrics, ...metrics },
      }),
    );
  }

  /**
   * Discards the state that an instance has of its previous task. A subclass with such state must
   * override this method.
   */
  reset(_task: Task): void | Promise<void> {
    // The base class has no state to discard.
  }

  setRepeatTimes(repeatTimes: number, runIdBase: number): void {
    this.repeatTimes = repeatTimes;
    this.runIdBase = runIdBase;
  }

  /** Replaces the context of a reused instance, and calls `reset`. */
  attach(context: WorkflowContext): void | Promise<void> {
    this.#context = context;
    return this.reset(context.task);
  }
}

/** A concrete subclass of {@link Workflow}. */
export interface WorkflowClass {
  new (context: WorkflowContext): Workflow;
  readonly canReset: boolean;
  readonly canRepeat: boolean;
}
