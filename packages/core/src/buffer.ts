/**
 * Interfaces of task sources, and of the store that holds experiences until they are trained on.
 */
import type { Experience } from './experience.js';
import type { LateRewards } from './late-rewards.js';
import type { Metrics } from './metrics.js';
import type { RawTask } from './task.js';

/** A plain JSON object. */
export type JsonState = Readonly<Record<string, unknown>>;

/** One row of a task set and its row number. */
export interface TaskRow {
  readonly row: number;
  readonly rawTask: RawTask;
}

/** Mean reward of the rollouts of one task row. */
export interface RowFeedback {
  /** Name of the task set. */
  readonly taskset: string;
  readonly row: number;
  /** Mean reward. */
  readonly value: number;
}

/** Reads the rows of one task set in a reproducible order. Reading can be resumed at any row. */
export interface TaskSource {
  readonly name: string;
  /** Number of rows in the set. */
  readonly size: number;
  /** Returns the next `count` rows. Returns fewer rows, or none, at the end of the last epoch. */
  next(count: number): Promise<readonly TaskRow[]>;
  /**
   * Receives the mean reward of each row that was read from this source and attempted. Absent if
   * the order of rows does not depend on rewards.
   */
  feedback?(feedback: readonly RowFeedback[]): void;
  /**
   * Returns the state that determines the remaining order: the position, and the changes that
   * feedback has caused.
   */
  state(): JsonState;
  restore(state: JsonState): void;
  close(): Promise<void>;
}

/**
 * Unit in which a batch is counted. With `runs` and `tasks`, no rollout or task is split between
 * two batches.
 */
export type BatchUnit = 'experiences' | 'runs' | 'tasks';

export interface TakeFilter {
  /** Unit in which the batch is counted. @default "experiences" */
  readonly unit?: BatchUnit;
  /**
   * Maximum number of explore steps whose experiences one batch may contain. If these steps have
   * fewer experiences left than a batch needs, because rollouts failed or were filtered out, the
   * batch contains all of them and does not wait for later steps. If the maximum is 1, an explore
   * step is divided into batches of about equal size.
   * @default no limit
   */
  readonly maxExploreSteps?: number;
  /**
   * Lowest policy version; experiences of older versions are discarded and counted, not returned.
   * @default no limit
   */
  readonly minPolicyVersion?: number;
}

/**
 * Experiences that are leased to the trainer. They are considered consumed only after
 * {@link Lease.acknowledge}.
 */
export interface Lease {
  readonly experiences: readonly Experience[];
  /** Metrics of this batch (`sample/...`). */
  readonly metrics: Metrics;
  /**
   * Uids of experiences that were discarded because they are older than
   * `TakeFilter.minPolicyVersion`. The discard becomes permanent when the lease is acknowledged.
   * @default empty
   */
  readonly stale?: readonly string[];
  /** Uids of experiences that may be trained on again. @default empty */
  readonly reusable?: readonly string[];
  /**
   * Marks the experiences as consumed by optimizer step `trainStep`.
   * @param advantages advantages that the step computed itself: one array per experience, one entry
   * per response token, NaN for tokens that were not trained on. Stores keep them for display only.
   */
  acknowledge(trainStep: number, advantages?: readonly Float32Array[]): Promise<void>;
  /** Returns the experiences to their previous place in the queue. */
  release(): Promise<void>;
}

/**
 * Returns the number of the last commit of rewarded answers that an explorer's state has, or 0 if
 * it has none. Earlier versions stored the number as the step of an explorer without a position in
 * tasks.
 */
export function commitIn(state: JsonState | undefined): number {
  const { commit, step, feed } = state ?? {};
  return Number(commit ?? (JSON.stringify(feed) === '{}' ? step : 0));
}

/** Supplies a trainer with batches. */
export interface ExperienceSource {
  /**
   * Waits until a batch of `count` experiences, runs or tasks is available and leases the oldest
   * batch. After {@link ExperienceStore.finish}, leases the remaining experiences, and then returns
   * `undefined`.
   * @throws CancelledError when the signal aborts, BufferError when the store failed
   */
  take(count: number, filter?: TakeFilter, signal?: AbortSignal): Promise<Lease | undefined>;
  /**
   * Undoes all acknowledgements of train steps after `trainStep`, and releases every open lease. A
   * store that reuses experiences then repeats the recorded batches of these steps. A resumed
   * trainer calls this method before any other.
   */
  rollback(trainStep: number): Promise<void>;
  close(): Promise<void>;
}

/** An {@link ExperienceSource} that an explorer fills. */
export interface ExperienceStore extends ExperienceSource {
  /**
   * Rollouts that wait for rewards. Their experiences are added with a later explore step.
   * @default rollouts cannot wait for rewards
   */
  readonly lateRewards?: LateRewards;
  /**
   * Adds the experiences of one explore step, and the explorer's state after the step, atomically.
   * @param explorerState state to store. @default undefined: the stored state is kept
   * @param commit number of the commit, if the experiences are those of a commit of rewarded answers
   * @throws BufferError for an experience whose uid is already stored
   */
  put(batch: readonly Experience[], explorerState?: JsonState, commit?: number): Promise<void>;
  /** Returns the explorer's state that was stored last. */
  explorerState(): Promise<JsonState | undefined>;
  /** Returns the number of the last commit of rewarded answers, or 0 if there is none. */
  lastCommit(): Promise<number>;
  /**
   * Returns the last train step that was acknowledged and not rolled back, or 0 if there is none.
   */
  lastTrainStep(): Promise<number>;
  /**
   * Deletes the experiences that train steps up to `trainStep` have consumed. A later {@link
   * rollback} to an earlier step cannot restore them; {@link counts} still includes them.
   */
  prune(trainStep: number): Promise<void>;
  /**
   * Returns true while the trainer waits for experiences that do not exist yet or are not released.
   */
  starved(): boolean;
  /**
   * Releases the experiences of explore steps (`eid.batch`) up to this one to the trainer. From
   * then on, experiences of later steps are withheld. Before the first call, nothing is withheld.
   */
  releaseUpTo(exploreStep: number): void;
  /**
   * Returns the first train step that consumed an experience of an explore step after
   * `exploreStep`, or undefined if there is none.
   */
  firstTrainStepAfter(exploreStep: number): Promise<number | undefined>;
  /**
   * Returns the oldest explore step with an experience that has not been trained on, or undefined
   * if there is none.
   */
  oldestUnusedStep(): number | undefined;
  /**
   * Announces that no more experiences will be put. A waiting trainer gets the remaining
   * experiences.
   */
  finish(): void;
  /**
   * Reports that the producer of experiences failed. Calls of `take` that are waiting reject with
   * this error.
   */
  fail(error: Error): void;
  /**
   * Counts the stored, waiting, leased and trained experiences. Experiences that were discarded
   * because of `TakeFilter.minPolicyVersion` count only as stored.
   */
  counts(): Promise<{
    readonly total: number;
    readonly waiting: number;
    readonly leased: number;
    readonly trained: number;
  }>;
}

/** Read access to stored experiences. Ids of rows increase, with gaps where rows were deleted. */
export interface ExperienceRows {
  /** Returns the id of the newest row, or 0 if the store is empty. */
  newestId(): number;
  /** Returns the first `limit` rows after the row `id`, in ascending order of ids. */
  rowsAfter(
    id: number,
    limit: number,
  ): readonly { readonly id: number; readonly experience: Experience }[];
}
