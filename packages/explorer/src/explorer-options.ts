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
import type { EnvironmentCircuits } from './runs/environment-circuits.js';
import type { TaskOutcome } from './runs/outcome.js';
import type { RunSettings } from './runs/run-attempt.js';
import type { StartTaskOptions } from './runs/start-task.js';
import type { DynamicTimeout } from './runs/time-limits.js';
import type { OverRollout } from './runs/wait-for-enough.js';

/** Settings of an explorer, with the names of the configuration's section `explorer`. */
export interface ExplorerSettings extends RunSettings {
  /** Maximum number of attempts in flight. */
  readonly concurrency: number;
  /**
   * Maximum number of explore steps whose runs are in flight at once.
   * @default all steps up to the next boundary; 2 if there are no boundaries
   * (`ExploreSync.streaming`)
   */
  readonly maxInflightBatches?: number;
  /**
   * Settings for ending explore steps before their slowest tasks.
   * @default explore steps wait for every task
   */
  readonly overRollout?: OverRollout;
  /**
   * Settings for deadlines computed from earlier attempts.
   * @default the deadline of an attempt is `maxTimeoutMs`
   */
  readonly dynamicTimeout?: DynamicTimeout;
  /**
   * Shape in which experiences are stored; for each shape, advantages are computed per model call.
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

/** Options for making the runs of tasks. */
export interface TaskRunnerOptions extends Omit<
  StartTaskOptions,
  'settings' | 'timeLimit' | 'onLateResult' | 'circuits'
> {
  readonly settings: ExplorerSettings;
  /** Circuit breakers of the environments. @default not shared between explorers */
  readonly circuits?: EnvironmentCircuits;
}

export interface ExplorerOptions extends TaskRunnerOptions {
  readonly feed: TaskFeed;
  readonly evalSets: readonly EvalSet[];
  /** True if evaluations also report max, min and std over tasks. @default false */
  readonly detailedStats?: boolean;
  /** Maximum number of explore steps. @default explore until the tasks end */
  readonly maxSteps?: number;
  /**
   * If set, explore steps run one by one, regardless of `maxInflightBatches`.
   * @default no further tasks are drawn
   */
  readonly dynamicSampling?: DynamicSampling;

  /**
   * Makes the runs of tasks in other processes.
   * @default runs are made in this process, with the options of a task runner
   */
  readonly runTasks?: (
    tasks: readonly Task[],
    signal: AbortSignal,
  ) => Promise<readonly TaskOutcome[]>;
  /** Version of the weights in use. */
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
   * be stored, the step is repeated when the run resumes, and its experiences are received again.
   * @default no callback
   */
  readonly onExplored?: (step: number, experiences: readonly Experience[]) => void;
  /** Receives the outcomes of every evaluated set. @default no callback */
  readonly onEvaluated?: OnEvaluated;
  /** Called when a step or evaluation starts, and when its runs end. @default no callback */
  readonly onProgress?: (progress: ExploreProgress) => void;

  readonly sync: ExploreSync;
  readonly sink: MetricSink;
}

export interface EvaluatedSet {
  readonly set: string;
  /** Version of the weights that gave the answers. */
  readonly policyVersion: number;
  readonly outcomes: readonly TaskOutcome[];
}

export type OnEvaluated = (evaluated: EvaluatedSet) => void;

/** Progress of the runs of one explore step or one evaluation set. */
export interface ExploreProgress {
  /** Name such as `explore step 3` or `evaluation of held_out`. */
  readonly what: string;
  readonly done: number;
  readonly total: number;
}

/** Source of the tasks of explore steps; state and later feedback determine all further tasks. */
export interface TaskFeed {
  /**
   * Returns the next tasks, for explore step `step`; fewer, and finally none, at the end.
   * @param draw number of tasks, and id of the first one. @default a batch
   */
  next(step: number, draw?: TaskDraw): Promise<readonly Task[]>;
  /**
   * Receives the results of rows, on which the tasks of later steps may depend.
   * @default tasks do not depend on results
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
  /** All tasks of the set, marked as evaluation, with batch id `<step>/<name>`. */
  tasks(step: number): Promise<readonly Task[]>;
}

/** The part of the synchronizer that the explorer needs. */
export interface ExploreSync {
  /** True if weights may change between explore step `step` and the next one. */
  isBoundary(step: number): boolean;
  /**
   * Called after explore step `step`, with no run in flight: waits for the trainer if necessary,
   * and switches weights. The outcomes `updated` and `starved` (the trainer waits for experiences)
   * become metrics; a synchronizer may have other outcomes.
   */
  exploreBoundary(
    step: number,
    signal?: AbortSignal,
  ): Promise<{ readonly outcome: string; readonly version: number }>;
  /** Called in order, once the experiences of an explore step are stored. */
  exploreStepStored?(step: number): void;
  /** Present if weights may change while runs are in flight; there are then no boundaries. */
  readonly streaming?: {
    mayBegin(step: number): boolean;
    /** Resolves when explore step `step` may begin. */
    whenItMay(step: number, signal?: AbortSignal): Promise<void>;
  };
  /**
   * Runs an evaluation with weights that do not change.
   * @default weights never change during an evaluation
   */
  withSteadyWeights?<T>(work: () => Promise<T>): Promise<T>;
}

/** Progress of an explorer, stored with each explore step. */
export interface ExplorerState {
  readonly step: number;
  /** Version of the weights that sampled the step. */
  readonly policyVersion: number;
  readonly feed: JsonState;
  /** State of `TimeLimits`. @default no times have been recorded */
  readonly timeLimits?: JsonState;
  /** With dynamic sampling: number of runs or tasks stored beyond the last full batch. @default 0 */
  readonly carried?: number;
  /**
   * Results that `feed` has not received yet. The feed receives results at a boundary, so that the
   * tasks of a step do not depend on how many steps are in flight.
   * @default empty
   */
  readonly feedback?: readonly RowFeedback[];
  /** Tasks whose rewards are pending. @default empty */
  readonly waiting?: readonly string[];
}

export interface DynamicSampling {
  /** Number of tasks in an explore step. */
  readonly batchSize: number;
  /** Number of runs per task. */
  readonly repeatTimes: number;
  /** Unit in which the trainer counts; a group that lost some of its runs still counts as one task. */
  readonly unit: BatchUnit;
  /** Limits an explore step to the tasks of this number of batches. */
  readonly maxBatches: number;
  /** The last explore step, which makes no runs beyond its batch. @default unknown */
  readonly lastStep?: number;
}
