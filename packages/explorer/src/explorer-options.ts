/** Settings and dependencies of an explorer. */
import type {
  AdvantageFn,
  Experience,
  ExperienceOperator,
  MetricSink,
  Task,
} from '@trinity-rft/core';
import type { ExperienceShape } from '@trinity-rft/core/internal';
import type {
  BatchUnit,
  ExperienceStore,
  JsonState,
  LateRewards,
  RowFeedback,
} from '@trinity-rft/core/store';
import type { EnvironmentCircuits } from './runs/environment-circuits.js';
import type { TaskOutcome } from './runs/outcome.js';
import type { RunSettings } from './runs/run-attempt.js';
import type { StartTaskOptions } from './runs/start-task.js';
import type { DynamicTimeout } from './runs/time-limits.js';
import type { OverRollout } from './runs/wait-for-enough.js';

/** How an explorer works, by the names of a configuration's section `explorer`. */
export interface ExplorerSettings extends RunSettings {
  /** Attempts in flight. */
  readonly concurrency: number;
  /**
   * Explore steps whose runs are in flight at once. @default all up to the next boundary; without
   * boundaries (`ExploreSync.streaming`) 2
   */
  readonly maxInflightBatches?: number;
  /** @default every task of a step is waited for */
  readonly overRollout?: OverRollout;
  /** @default the deadline of an attempt is `maxTimeoutMs` */
  readonly dynamicTimeout?: DynamicTimeout;
  /** What is stored; advantages are computed per model call either way. @default "step" */
  readonly experienceShape?: ExperienceShape;
  /** How long a pending reward may take, unless the workflow says. @default a day */
  readonly maxRewardDelayMs?: number;
  /** Explore steps between evaluations. @default never */
  readonly evalInterval?: number;
  /** Evaluate before the first explore step. */
  readonly evalOnStartup: boolean;
}

/** Needs of making the runs of tasks. */
export interface TaskRunnerOptions extends Omit<
  StartTaskOptions,
  'settings' | 'timeLimit' | 'onLateResult' | 'circuits'
> {
  readonly settings: ExplorerSettings;
  /** What is known of environments that fail. @default nothing that another explorer found out */
  readonly circuits?: EnvironmentCircuits;
}

export interface ExplorerOptions extends TaskRunnerOptions {
  readonly feed: TaskFeed;
  readonly evalSets: readonly EvalSet[];
  /** Evaluations also report max, min and std over tasks. @default false */
  readonly detailedStats?: boolean;
  /** No more explore steps than this. @default until the tasks end */
  readonly maxSteps?: number;
  /** Explore steps then follow each other, whatever `maxInflightBatches` says. @default none */
  readonly dynamicSampling?: DynamicSampling;

  /** Makes the runs of tasks elsewhere. @default here, with the options of a task runner */
  readonly runTasks?: (
    tasks: readonly Task[],
    signal: AbortSignal,
  ) => Promise<readonly TaskOutcome[]>;
  /** Version of the weights that sample now. */
  readonly policyVersion: () => number;

  /** Applied by the experience pipeline before the advantages. @default none */
  readonly operators?: readonly ExperienceOperator[];
  readonly advantage?: AdvantageFn;
  readonly store: ExperienceStore;
  /** Where groups wait whose rewards arrive later. @default rewards may not be pending */
  readonly lateRewards?: LateRewards;
  /**
   * Receives the experiences of each explore step just before they are stored: what it records of a
   * step that was not stored is recorded again when the run resumes.
   */
  readonly onExplored?: (step: number, experiences: readonly Experience[]) => void;
  /** Receives the outcomes of every evaluated set. @default no callback */
  readonly onEvaluated?: OnEvaluated;
  /** Called with the runs of a step or evaluation that have ended. @default no callback */
  readonly onProgress?: (progress: ExploreProgress) => void;

  readonly sync: ExploreSync;
  readonly sink: MetricSink;
}

export interface EvaluatedSet {
  readonly set: string;
  /** Version of the weights that answered. */
  readonly policyVersion: number;
  readonly outcomes: readonly TaskOutcome[];
}

export type OnEvaluated = (evaluated: EvaluatedSet) => void;

/** Runs of one explore step, or of one evaluation set. */
export interface ExploreProgress {
  /** `explore step 3`, `evaluation of held_out`. */
  readonly what: string;
  readonly done: number;
  readonly total: number;
}

/** Where the tasks of explore steps come from; its state determines all tasks that follow. */
export interface TaskFeed {
  /** The next tasks, for explore step `step`; fewer, and none, at the end. @param draw @default a batch */
  next(step: number, draw?: TaskDraw): Promise<readonly Task[]>;
  /** How the runs of rows did; the tasks of later steps may depend on it. @default they do not */
  feedback?(feedback: readonly RowFeedback[]): void;
  state(): JsonState;
  restore(state: JsonState): void;
}

export interface TaskDraw {
  readonly count: number;
  /** ID of the first task, where the step has tasks already. */
  readonly firstTask: number;
}

export interface EvalSet {
  readonly name: string;
  /** All tasks of the set, marked as evaluation, with batch id `<step>/<name>`. */
  tasks(step: number): Promise<readonly Task[]>;
}

/** Methods of the synchronizer that the explorer needs. */
export interface ExploreSync {
  /** True when weights may move between explore step `step` and the next one. */
  isBoundary(step: number): boolean;
  /**
   * After explore step `step`, with no run in flight: waits for its turn and switches weights. The
   * outcomes `updated` and `starved` (the trainer waits for experiences) become metrics; a
   * synchronizer may have others.
   */
  exploreBoundary(
    step: number,
    signal?: AbortSignal,
  ): Promise<{ readonly outcome: string; readonly version: number }>;
  /** Called in order, once the experiences of an explore step are stored. */
  exploreStepStored?(step: number): void;
  /** Present where weights move while runs are in flight; then there are no boundaries. */
  readonly streaming?: {
    mayBegin(step: number): boolean;
    /** Resolves when explore step `step` may begin. */
    whenItMay(step: number, signal?: AbortSignal): Promise<void>;
  };
  /** Runs an evaluation with weights that do not move. @default they do not */
  withSteadyWeights?<T>(work: () => Promise<T>): Promise<T>;
}

/** Where an explorer stands; stored with each explore step. */
export interface ExplorerState {
  readonly step: number;
  /** Version of the weights that sampled the step. */
  readonly policyVersion: number;
  readonly feed: JsonState;
  /** Time limits of `TimeLimits`. @default nothing is known */
  readonly timeLimits?: JsonState;
  /** With dynamic sampling: members of a batch that are stored beyond the last full one. @default 0 */
  readonly carried?: number;
  /**
   * Results that `feed` lacks. It gets them at a boundary, so that the tasks of a step do not depend on
   * how many steps are in flight. @default none
   */
  readonly feedback?: readonly RowFeedback[];
  /** Tasks whose rewards are pending. @default none */
  readonly waiting?: readonly string[];
}

export interface DynamicSampling {
  /** Tasks of an explore step. */
  readonly batchSize: number;
  /** Runs of a task. */
  readonly repeatTimes: number;
  /** Unit that the trainer counts; a group that lost some of its runs is a whole task. */
  readonly unit: BatchUnit;
  /** An explore step draws at most as many tasks as this many batches have. */
  readonly maxBatches: number;
  /** The last explore step, which makes nothing beyond its batch. @default unknown */
  readonly lastStep?: number;
}
