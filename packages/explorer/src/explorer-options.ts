/** Settings and dependencies of an explorer. */
import type {
  AdvantageFn,
  Experience,
  ExperienceOperator,
  MetricSink,
  Task,
} from '@trinity-rft/core';
import type { ExperienceShape } from '@trinity-rft/core/internal';
import type { BatchUnit, ExperienceStore, JsonState, RowFeedback } from '@trinity-rft/core/store';
import type { OnPause } from './runs/back-offs.js';
import type { EnvironmentCircuits } from './runs/environment-circuits.js';
import type { TaskOutcome } from './runs/outcome.js';
import type { RunSettings } from './runs/run-attempt.js';
import type { StartTaskOptions } from './runs/start-task.js';
import type { DynamicTimeout } from './runs/time-limits.js';
import type { OverRollout } from './runs/wait-for-enough.js';

/** Settings of an explorer, named as in the configuration's section `explorer`. */
export interface ExplorerSettings extends RunSettings {
  /** Maximum number of attempts in flight. */
  readonly concurrency: number;
  /**
   * Maximum number of explore steps whose rollouts are in progress at the same time.
   * @default all steps up to the next boundary, or 2 if there are no boundaries
   * (`ExploreSync.streaming`)
   */
  readonly maxInflightBatches?: number;
  /**
   * Settings for ending explore steps before their slowest tasks.
   * @default no early end
   */
  readonly overRollout?: OverRollout;
  /**
   * Settings for deadlines computed from earlier attempts.
   * @default `maxTimeoutMs` as the deadline of every attempt
   */
  readonly dynamicTimeout?: DynamicTimeout;
  /**
   * Shape in which experiences are stored. Advantages are computed per model call, regardless of
   * the shape.
   * @default "step"
   */
  readonly experienceShape?: ExperienceShape;
  /**
   * Maximum number of milliseconds to wait for a pending reward, unless the workflow sets another
   * maximum.
   * @default one day
   */
  readonly maxRewardDelayMs?: number;
  /** Number of explore steps between evaluations. @default no evaluations */
  readonly evalInterval?: number;
  /** True if there is an evaluation before the first explore step. */
  readonly evalOnStartup: boolean;
}

/** Options for executing the rollouts of tasks. */
export interface TaskRunnerOptions extends Omit<
  StartTaskOptions,
  'settings' | 'timeLimit' | 'onLateResult' | 'circuits'
> {
  readonly settings: ExplorerSettings;
  /** Circuit breakers of the environments. @default separate circuit breakers per explorer */
  readonly circuits?: EnvironmentCircuits;
}

export interface ExplorerOptions extends TaskRunnerOptions {
  readonly feed: TaskFeed;
  readonly evalSets: readonly EvalSet[];
  /** True if evaluations also report max, min and std over tasks. @default false */
  readonly detailedStats?: boolean;
  /** Maximum number of explore steps. @default no limit */
  readonly maxSteps?: number;
  /**
   * Settings of dynamic sampling. With it, explore steps are executed one by one, regardless of
   * `maxInflightBatches`.
   * @default no dynamic sampling
   */
  readonly dynamicSampling?: DynamicSampling;

  /**
   * Executes the rollouts of tasks in other processes.
   * @default execution in the explorer's process, with the options of a task runner
   */
  readonly runTasks?: (
    tasks: readonly Task[],
    signal: AbortSignal,
  ) => Promise<readonly TaskOutcome[]>;
  /** Returns the version of the weights in use. */
  readonly policyVersion: () => number;

  /**
   * Operators that the experience pipeline applies before advantages are computed.
   * @default no operators
   */
  readonly operators?: readonly ExperienceOperator[];
  readonly advantage?: AdvantageFn;
  readonly store: ExperienceStore;
  /**
   * Receives the experiences of each explore step just before they are stored. If a step could not
   * be stored, the step is repeated when the training run resumes, and its experiences are received
   * again.
   * @default no callback
   */
  readonly onExplored?: (step: number, experiences: readonly Experience[]) => void;
  /** Receives the outcomes of every evaluated set. @default no callback */
  readonly onEvaluated?: OnEvaluated;
  /**
   * Called when a step or evaluation starts, and whenever some of its rollouts have ended. @default
   * no callback
   */
  readonly onProgress?: (progress: ExploreProgress) => void;
  /**
   * Called when rollouts start to wait for their environment, or the explorer for rewards. @default
   * no callback
   */
  readonly onPause?: OnPause;

  readonly sync: ExploreSync;
  readonly sink: MetricSink;
}

export interface EvaluatedSet {
  readonly set: string;
  /** Version of the weights that sampled the responses. */
  readonly policyVersion: number;
  readonly outcomes: readonly TaskOutcome[];
}

export type OnEvaluated = (evaluated: EvaluatedSet) => void;

/** Progress of the rollouts of one explore step or one evaluation set, or of a wait. */
export interface ExploreProgress {
  /**
   * Name such as `explore step 3`, `evaluation of held_out`, or `waiting for the rewards of 2
   * tasks`.
   */
  readonly what: string;
  /** Number of rollouts or tasks. */
  readonly total: number;
  /**
   * Number of those that have ended. Undefined while it is unknown, because other processes make
   * the rollouts, and during a wait.
   */
  readonly done?: number;
}

/**
 * Source of the tasks of explore steps. Its state, and the feedback that it receives after the
 * state was read, determine all later tasks.
 */
export interface TaskFeed {
  /**
   * Returns the tasks of explore step `step`. Returns fewer tasks than requested, and finally none,
   * when the tasks run out.
   * @param draw number of tasks, and id of the first one. @default one batch, with ids from 0
   */
  next(step: number, draw?: TaskDraw): Promise<readonly Task[]>;
  /**
   * Called with the results of tasks, on which the tasks of later steps may depend.
   * @default undefined: later tasks do not depend on results
   */
  feedback?(feedback: readonly RowFeedback[]): void;
  state(): JsonState;
  restore(state: JsonState): void;
}

export interface TaskDraw {
  readonly count: number;
  /** Id of the first task to draw; above 0 if the step already has tasks. */
  readonly firstTask: number;
}

export interface EvalSet {
  readonly name: string;
  /** Returns all tasks of the set, marked as evaluation tasks, with batch id `<step>/<name>`. */
  tasks(step: number): Promise<readonly Task[]>;
}

/** The part of the synchronizer that the explorer needs. */
export interface ExploreSync {
  /** Returns true if weights may change between explore step `step` and the next one. */
  isBoundary(step: number): boolean;
  /**
   * Returns true if a synchronization point lies between explore step `step` and the next one, even
   * if weights do not change there. At these points, the task feed receives results.
   */
  isSyncPoint(step: number): boolean;
  /**
   * Called after explore step `step`, when no rollout is in progress. Waits for the trainer if
   * necessary, and switches weights. The outcomes `updated` and `starved` (the trainer waits for
   * experiences) become metrics. A synchronizer may have other outcomes.
   */
  exploreBoundary(
    step: number,
    signal?: AbortSignal,
  ): Promise<{ readonly outcome: string; readonly version: number }>;
  /**
   * Called before explore step `step` is stored, if an evaluation is due after it. Withholds the
   * step from the trainer until `exploreStepStored`.
   * @default undefined: the trainer may use the step during the evaluation
   */
  hold?(step: number): void;
  /**
   * Called in order, once the experiences of an explore step are stored and the evaluation after
   * it, if one is due, is recorded.
   */
  exploreStepStored?(step: number): void;
  /** Present if weights may change while rollouts are in progress. There are then no boundaries. */
  readonly streaming?: {
    mayBegin(step: number): boolean;
    /** Resolves when explore step `step` may begin. */
    whenItMay(step: number, signal?: AbortSignal): Promise<void>;
  };
  /**
   * Calls `work`, which evaluates, and does not change weights before it ends.
   * @default undefined: weights never change during an evaluation
   */
  withSteadyWeights?<T>(work: () => Promise<T>): Promise<T>;
}

/** Progress of an explorer, stored with each explore step. */
export interface ExplorerState {
  readonly step: number;
  /** Version of the weights that sampled the step. */
  readonly policyVersion: number;
  readonly feed: JsonState;
  /** State of `TimeLimits`. @default no recorded times */
  readonly timeLimits?: JsonState;
  /**
   * With dynamic sampling: number of rollouts or tasks that were stored for the next batch, because
   * they exceeded the last full batch. @default 0
   */
  readonly carried?: number;
  /**
   * Results that `feed` had not received when its state was read. The feed receives results only at
   * synchronization points, so that the tasks of a step do not depend on the number of steps in
   * flight.
   * @default empty
   */
  readonly feedback?: readonly RowFeedback[];
  /** Tasks whose rewards are pending. @default empty */
  readonly waiting?: readonly string[];
  /** True until the evaluation that is due after the step is recorded. @default false */
  readonly evaluationDue?: boolean;
  /**
   * True if a server has trained after the last explore step. The next explore step then continues
   * from the newest weights instead of `policyVersion`. @default false
   */
  readonly served?: boolean;
}

export interface DynamicSampling {
  /** Number of tasks in an explore step. */
  readonly batchSize: number;
  /** Number of rollouts per task. */
  readonly repeatTimes: number;
  /**
   * Unit in which the trainer counts a batch. A group that lost some of its rollouts still counts
   * as one task.
   */
  readonly unit: BatchUnit;
  /** Maximum number of tasks that an explore step may draw, as a multiple of `batchSize`. */
  readonly maxBatches: number;
  /**
   * Number of the last explore step, in which no more rollouts are made than its batch needs.
   * @default undefined: unknown
   */
  readonly lastStep?: number;
}
