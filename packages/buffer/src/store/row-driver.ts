/**
 * Interface of a storage driver, which stores the rows of the experience store. Queue, leases and
 * waits are in lease-store.ts.
 */
import type { Experience } from '@trinity-rft/core';
import type { JsonState } from '@trinity-rft/core/store';

/** Fields of a stored experience that the queue needs. */
export interface StoredRow {
  /** Position in insertion order, from 1. */
  readonly id: number;
  readonly policyVersion: number;
  /** Unique id, as `uid` of `@trinity-rft/core` returns it. */
  readonly uid: string;
  /** Number of train steps that have used the row. @default 0 */
  readonly uses?: number;
  /** Last train step that has used the row. */
  readonly lastUse?: number;
  /** Time of the last use, in milliseconds since the epoch. */
  readonly lastUseAt?: number;
}

/**
 * Row counts: all rows, rows that were trained on, and rows that were dropped without being trained
 * on.
 */
interface RowCounts {
  readonly total: number;
  readonly trained: number;
  readonly dropped: number;
}

/**
 * Rows in insertion order, with the train steps that used each row. Calls are synchronous and
 * atomic. A call that throws has changed nothing. In SQLite, the changes of a call are durable when
 * it returns.
 */
export interface RowDriver {
  /**
   * Appends the batch and replaces the explorer's state, if one is given.
   * @throws BufferError when a uid is already stored
   */
  insert(batch: readonly Experience[], explorerState: JsonState | undefined): readonly StoredRow[];
  read(rows: readonly StoredRow[]): readonly Experience[];
  /** Records a train step: it trained on `used`, in this order, and dropped `stale`. */
  settle(grant: Pick<Grant, 'used' | 'stale'>, use: Use): void;
  /** Returns the last train step that consumed rows, or 0 if there is none. */
  lastTrainStep(): number;
  /**
   * Undoes every `settle` of steps after `trainStep`.
   * @throws BufferError if rows of these steps have been pruned
   */
  unsettle(trainStep: number): void;
  /**
   * Deletes rows that steps up to `trainStep`, but no later step, have used. `counts` still
   * includes these rows.
   * @param keep ids of rows that may be used again. @default empty
   */
  prune(trainStep: number, keep?: ReadonlySet<number>): void;
  /**
   * Returns the rows that no train step has consumed, in insertion order.
   * @param after id after which rows are returned. @default 0
   */
  unsettled(after?: number): StoredRow[];
  /**
   * Returns the rows that no step has dropped, with their uses, in insertion order.
   * @param trainStep last train step that is taken into account. @default all train steps
   */
  reusable(trainStep?: number): StoredRow[];
  /** Returns the rows that each step after `trainStep` has used, in order. */
  recordsAfter(trainStep: number): readonly RecordedStep[];
  explorerState(): JsonState | undefined;
  /**
   * Returns the first train step that used rows of an explore step after `exploreStep`. The explore
   * step is the first part of the uid.
   */
  firstTrainStepAfter(exploreStep: number): number | undefined;
  counts(): RowCounts;
  close(): void;
}

/** Rows for one trainer call. `used` and `stale` are consumed together. */
export interface Grant {
  /** Rows to train on. */
  readonly used: readonly StoredRow[];
  /** Rows that are dropped: too old, or surplus. */
  readonly stale: readonly StoredRow[];
  /** Train step that has already used these rows and is now repeated. */
  readonly recordedStep?: number;
}

export interface Use {
  readonly trainStep: number;
  /** Time of the use, in milliseconds since the epoch. */
  readonly at: number;
  /** Advantages in batch order; see `Lease.acknowledge`. */
  readonly advantages?: readonly Float32Array[];
}

/** Rows that a train step consumed, in the order of its batch. */
export interface RecordedStep {
  readonly trainStep: number;
  readonly used: readonly number[];
  readonly dropped: readonly number[];
}
