/**
 * Interface of a storage driver, which stores the rows of the experience store. It does not handle
 * the queue, leases or waits; see lease-store.ts.
 */
import type { Experience } from '@trinity-rft/core';
import type { JsonState } from '@trinity-rft/core/store';

/** Fields of a stored experience that the queue needs. */
export interface StoredRow {
  /** Position in the order of insertion, from 1. */
  readonly id: number;
  readonly policyVersion: number;
  /** Unique id, as `uid` of `@trinity-rft/core` returns it. */
  readonly uid: string;
  /** Number of train steps that have used the row. @default 0 */
  readonly uses?: number;
  /** Last train step that used the row. Absent if none has. */
  readonly lastUse?: number;
  /** Time of the last use, in milliseconds since the epoch. */
  readonly lastUseAt?: number;
}

/** Numbers of rows: in total, trained on, and dropped without being trained on. */
interface RowCounts {
  readonly total: number;
  readonly trained: number;
  readonly dropped: number;
}

/**
 * Stores rows in the order of insertion, and records which train steps used each row. Calls are
 * synchronous and atomic: a call that throws has changed nothing. With SQLite, the changes of a
 * call are durable when it returns.
 */
export interface RowDriver {
  /**
   * Appends a batch of experiences. If the explorer's state or the number of a commit is given,
   * stores it in place of the previous one.
   * @throws BufferError when a uid is already stored
   */
  insert(
    batch: readonly Experience[],
    explorerState: JsonState | undefined,
    commit?: number,
  ): readonly StoredRow[];
  read(rows: readonly StoredRow[]): readonly Experience[];
  /** Records a train step: it trained on `used`, in this order, and dropped `stale`. */
  settle(grant: Pick<Grant, 'used' | 'stale'>, use: Use): void;
  /** Returns the last train step that used or dropped rows, or 0 if there is none. */
  lastTrainStep(): number;
  /**
   * Undoes every `settle` call for a train step after `trainStep`.
   * @throws BufferError if rows of these steps have been pruned
   */
  unsettle(trainStep: number): void;
  /**
   * Deletes the rows whose last use was by a train step up to `trainStep`. `counts` continues to
   * include them.
   * @param keep ids of rows that must be kept, because they may be used again. @default empty
   */
  prune(trainStep: number, keep?: ReadonlySet<number>): void;
  /**
   * Returns the rows that no train step has consumed, in insertion order.
   * @param after only rows with a larger id are returned. @default 0
   */
  unsettled(after?: number): StoredRow[];
  /**
   * Returns the rows that no train step has dropped, each with its number of uses, in insertion
   * order.
   * @param trainStep last train step that is taken into account. @default all train steps
   */
  reusable(trainStep?: number): StoredRow[];
  /**
   * Returns, for each train step after `trainStep`, the rows that it used or dropped, in ascending
   * order of steps.
   */
  recordsAfter(trainStep: number): readonly RecordedStep[];
  explorerState(): JsonState | undefined;
  /**
   * Returns the number of the last commit, or 0 if there is none.
   * @default the number is kept in the explorer's state
   */
  lastCommit?(): number;
  /**
   * Returns the first train step that used rows of an explore step after `exploreStep`. The explore
   * step is the first part of the uid; in the uid of a commit, this part is no number.
   */
  firstTrainStepAfter(exploreStep: number): number | undefined;
  counts(): RowCounts;
  close(): void;
}

/** Rows that are handed out for one train step. `used` and `stale` are consumed together. */
export interface Grant {
  /** Rows to train on. */
  readonly used: readonly StoredRow[];
  /** Rows that are dropped without being trained on, because they are too old or surplus. */
  readonly stale: readonly StoredRow[];
  /**
   * If the train step is repeated, its number. It has already been recorded with these rows.
   * @default undefined: not a repetition
   */
  readonly recordedStep?: number;
}

export interface Use {
  readonly trainStep: number;
  /** Time of the use, in milliseconds since the epoch. */
  readonly at: number;
  /** Advantages in batch order; see `Lease.acknowledge`. */
  readonly advantages?: readonly Float32Array[];
}

/** Ids of the rows that a train step used and dropped, in the order of its batch. */
export interface RecordedStep {
  readonly trainStep: number;
  readonly used: readonly number[];
  readonly dropped: readonly number[];
}
