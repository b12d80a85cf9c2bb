/** The buffer seam: where tasks come from, and where experiences wait for the trainer. */
import type { Experience } from './experience.js';
import type { Metrics } from './metrics.js';
import type { RawTask } from './task.js';

/** Plain JSON. */
export type JsonState = Readonly<Record<string, unknown>>;

/** One row of a task set and where it stands. */
export interface TaskRow {
  readonly row: number;
  readonly rawTask: RawTask;
}

/** Rows of one task set in a fixed order that can be resumed anywhere. */
export interface TaskSource {
  readonly name: string;
  /** Rows in the set. */
  readonly size: number;
  /** The next `count` rows; fewer, or none, at the end of the last epoch. */
  next(count: number): Promise<readonly TaskRow[]>;
  /** The single cursor from which the rest of the order follows. */
  state(): JsonState;
  restore(state: JsonState): void;
  close(): Promise<void>;
}

export interface TakeFilter {
  /** Older experiences are discarded and counted, not returned. */
  readonly minPolicyVersion?: number;
}

/** Experiences handed to the trainer. Until it is acknowledged, nothing of it is used up. */
export interface Lease {
  readonly experiences: readonly Experience[];
  /** Numbers about this take (`sample/...`). */
  readonly metrics: Metrics;
  /** The optimizer step `trainStep` consumed them. */
  acknowledge(trainStep: number): Promise<void>;
  /** Gives them back, in their old place. */
  release(): Promise<void>;
}

/** Where a trainer reads. */
export interface ExperienceSource {
  /**
   * Waits until `count` experiences are there and leases the oldest; after
   * {@link ExperienceStore.finish} the remainder, then `undefined`. @throws CancelledError when the
   * signal aborts, BufferError when the store failed.
   */
  take(count: number, filter?: TakeFilter, signal?: AbortSignal): Promise<Lease | undefined>;
  /**
   * Undoes acknowledgements of steps after `trainStep`, and every open lease: what a resumed
   * trainer starts with.
   */
  rollback(trainStep: number): Promise<void>;
  close(): Promise<void>;
}

/** An {@link ExperienceSource} that an explorer fills. */
export interface ExperienceStore extends ExperienceSource {
  /**
   * Adds one explore step, all or nothing, together with the explorer's state after it. Experiences
   * whose uid is already stored are refused with a BufferError: nothing is ever trained twice.
   */
  put(batch: readonly Experience[], explorerState?: JsonState): Promise<void>;
  /** The state stored with the last {@link put}. */
  explorerState(): Promise<JsonState | undefined>;
  /** No more puts will come: waiting takers get the remainder. */
  finish(): void;
  /** The producer died: waiting takers reject with this error. */
  fail(error: Error): void;
  /**
   * How many are stored, waiting, leased and trained. What a waiting taker has refused as too old
   * is in none of the last three.
   */
  counts(): Promise<{
    readonly total: number;
    readonly waiting: number;
    readonly leased: number;
    readonly trained: number;
  }>;
}
