/** The buffer seam: task sources, and the store in which experiences wait for the trainer. */
import type { Experience } from './experience.js';
import type { Metrics } from './metrics.js';
import type { RawTask } from './task.js';

/** Plain JSON. */
export type JsonState = Readonly<Record<string, unknown>>;

/** One row of a task set and its row number. */
export interface TaskRow {
  readonly row: number;
  readonly rawTask: RawTask;
}

/** How well the runs of one row did. */
export interface RowFeedback {
  /** Name of the task set. */
  readonly taskset: string;
  readonly row: number;
  /** Mean reward. */
  readonly value: number;
}

/** Rows of one task set in a fixed order that can be resumed anywhere. */
export interface TaskSource {
  readonly name: string;
  /** Rows in the set. */
  readonly size: number;
  /** The next `count` rows; fewer, or none, at the end of the last epoch. */
  next(count: number): Promise<readonly TaskRow[]>;
  /** Results of rows of this set. @default the order does not depend on them */
  feedback?(feedback: readonly RowFeedback[]): void;
  /** From which the rest of the order follows: a cursor, and what results have changed. */
  state(): JsonState;
  restore(state: JsonState): void;
  close(): Promise<void>;
}

/** Unit in which a batch is counted. A run or task is never split between two batches. */
export type BatchUnit = 'experiences' | 'runs' | 'tasks';

export interface TakeFilter {
  /** @default "experiences" */
  readonly unit?: BatchUnit;
  /**
   * Explore steps that a batch may have parts of: with all that is left of them it is complete, so
   * it never waits for others when runs failed or were filtered. With 1, an explore step is cut into
   * batches of about equal size.
   * @default unlimited
   */
  readonly maxExploreSteps?: number;
  /** Older experiences are discarded and counted, not returned. */
  readonly minPolicyVersion?: number;
}

/** Experiences on loan to the trainer: they count as consumed only once acknowledged. */
export interface Lease {
  readonly experiences: readonly Experience[];
  /** Numbers about this take (`sample/...`). */
  readonly metrics: Metrics;
  /** Uids that were too old (`TakeFilter`) and are used up with the lease. @default none */
  readonly stale?: readonly string[];
  /** Uids that may be trained on again. @default none */
  readonly reusable?: readonly string[];
  /**
   * The optimizer step `trainStep` consumed them.
   * @param advantages where that step has computed them: one array per experience, one entry per
   * response token, NaN where it was not trained on. Files keep them, for people to read.
   */
  acknowledge(trainStep: number, advantages?: readonly Float32Array[]): Promise<void>;
  /** Returns them to their old place in the queue. */
  release(): Promise<void>;
}

/** Supplies a trainer with batches. */
export interface ExperienceSource {
  /**
   * Waits until a batch of `count` experiences, runs or tasks is available and leases the oldest. After
   * {@link ExperienceStore.finish} it returns the remainder, then `undefined`.
   * @throws CancelledError when the signal aborts, BufferError when the store failed
   */
  take(count: number, filter?: TakeFilter, signal?: AbortSignal): Promise<Lease | undefined>;
  /**
   * Undoes the acknowledgements of steps after `trainStep` and every open lease. A resumed trainer
   * starts with it.
   */
  rollback(trainStep: number): Promise<void>;
  close(): Promise<void>;
}

/** An {@link ExperienceSource} that an explorer fills. */
export interface ExperienceStore extends ExperienceSource {
  /**
   * Adds one explore step and the explorer's state after it, atomically.
   * @throws BufferError for an experience whose uid is already stored: nothing is trained twice
   */
  put(batch: readonly Experience[], explorerState?: JsonState): Promise<void>;
  /** The state stored with the last {@link put}. */
  explorerState(): Promise<JsonState | undefined>;
  /** The last train step that was acknowledged and not rolled back; 0 = none. */
  trainedUpTo(): Promise<number>;
  /**
   * Deletes what train steps up to `trainStep` have used up: a {@link rollback} to an earlier step
   * finds less from then on. {@link counts} still counts it.
   */
  prune(trainStep: number): Promise<void>;
  /** True while a taker waits for experiences that are not there or not released. */
  starved(): boolean;
  /** Experiences of later explore steps (`eid.batch`) are not given out. @default all are */
  releaseUpTo(exploreStep: number): void;
  /**
   * The first train step that used up an experience of an explore step after `exploreStep`.
   * Undefined when there was none.
   */
  firstTrainStepAfter(exploreStep: number): Promise<number | undefined>;
  /**
   * The oldest explore step of which an experience has not been trained on yet. Undefined when there
   * is none.
   */
  oldestUnused(): number | undefined;
  /** No more puts will follow: waiting takers get the remainder. */
  finish(): void;
  /** The producer died: waiting takers reject with this error. */
  fail(error: Error): void;
  /**
   * How many experiences are stored, waiting, leased and trained. Those discarded as too old
   * (`TakeFilter`) count only as stored.
   */
  counts(): Promise<{
    readonly total: number;
    readonly waiting: number;
    readonly leased: number;
    readonly trained: number;
  }>;
}

/** What is read of a store of experiences: rows have rising ids, with gaps where some were removed. */
export interface ExperienceRows {
  /** 0 where there is none. */
  newestId(): number;
  /** The first `limit` rows after `id`, in order. */
  rowsAfter(
    id: number,
    limit: number,
  ): readonly { readonly id: number; readonly experience: Experience }[];
}
