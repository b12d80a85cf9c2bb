/** The base class of workflows written as classes. */
import {
  withFields,
  type Experience,
  type Metrics,
  type RewardFn,
  type Runtime,
  type Task,
} from '@trinity-rft/core';
import type { AgentModel, WorkflowContext, WorkflowResult } from './types.js';

export interface RunScore {
  readonly reward: number;
  /** Place in the group, from 0. @default 0 */
  readonly index?: number;
  readonly metrics?: Metrics;
}

/**
 * A workflow as a class: `run` uses `this.model` to solve `this.task` and returns experiences or a
 * score. `this.task` and `this.model` always belong to the current task, also after a reset.
 */
export abstract class Workflow {
  /** Instances are reused: `reset(task)` is called before the next task. */
  static readonly canReset: boolean = false;
  /** One `run` makes all runs of a group: `setRepeatTimes` is called before it. */
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
   * What the model has recorded since the last time, as experiences of one run: that with place
   * `index` in the group. For a workflow that makes its runs one after the other; `index` 0 where
   * it makes one.
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

  /** Override to drop what the last task left behind. */
  reset(_task: Task): void | Promise<void> {
    // Nothing is kept between tasks unless a subclass keeps it.
  }

  setRepeatTimes(repeatTimes: number, runIdBase: number): void {
    this.repeatTimes = repeatTimes;
    this.runIdBase = runIdBase;
  }

  /** Called by the runner instead of the constructor when an instance is reused. */
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
