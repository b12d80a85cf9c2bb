/**
 * A storage driver of the experience store: it keeps rows. Queue, leases and waiting are in
 * lease-store.ts.
 */
import type { Experience } from '@trinity-rft/core';
import type { JsonState } from '@trinity-rft/core/store';

/** Fields of a stored experience that the queue needs. */
export interface StoredRow {
  /** Place in insertion order, from 1. */
  readonly id: number;
  readonly policyVersion: number;
  /** See `uid` of core. */
  readonly uid: string;
  /** Train steps that have used it. @default 0 */
  readonly uses?: number;
  /** The last of them. */
  readonly lastUse?: number;
  /** When that was, in milliseconds since the epoch. */
  readonly lastUseAt?: number;
}

/** Numbers of rows; `total` = never trained on + `trained` + `dropped`. */
interface RowCounts {
  readonly total: number;
  readonly trained: number;
  readonly dropped: number;
}

/**
 * Rows in insertion order, each with the train steps that used it. Calls are synchronous and
 * atomic: one that throws has changed nothing, one that returns is durable.
 */
export interface RowDriver {
  /**
   * Appends the batch and replaces the explorer's state, if one is given.
   * @throws BufferError when a uid is already stored
   */
  insert(batch: readonly Experience[], explorerState: JsonState | undefined): readonly StoredRow[];
  read(rows: readonly StoredRow[]): readonly Experience[];
  /** Records that a train step trained on `used`, in this order, and dropped `stale`. */
  settle(grant: Pick<Grant, 'used' | 'stale'>, use: Use): void;
  /** The last train step that used rows up; 0 = none. */
  trainedUpTo(): number;
  /**
   * Undoes every `settle` of a step after `trainStep`.
   * @throws BufferError when rows of such a step have been pruned
   */
  unsettle(trainStep: number): void;
  /**
   * Deletes what steps up to `trainStep`, and no later one, have used; `counts` still counts it.
   * @param keep ids of rows that may be used again. @default none
   */
  prune(trainStep: number, keep?: ReadonlySet<number>): void;
  /**
   * Rows that no train step has used up, in insertion order.
   * @param after only those with a larger id.
   * @default 0
   */
  unsettled(after?: number): StoredRow[];
  /**
   * Rows that no step has dropped, with their uses, in insertion order.
   * @param trainStep what later steps have done does not count. @default all count
   */
  reusable(trainStep?: number): StoredRow[];
  /** Rows that each step after `trainStep` has used, in order. */
  recordsAfter(trainStep: number): readonly RecordedStep[];
  explorerState(): JsonState | undefined;
  /** First train step of rows of an explore step after `exploreStep` (the first part of the uid). */
  firstTrainStepAfter(exploreStep: number): number | undefined;
  counts(): RowCounts;
  close(): void;
}

/** Rows for one taker. Both parts are used up together. */
export interface Grant {
  /** Rows to train on. */
  readonly used: readonly StoredRow[];
  /** Rows that are dropped: too old for the taker, or surplus. */
  readonly stale: readonly StoredRow[];
  /** The train step that has used them already and is made again. */
  readonly recordedStep?: number;
}

export interface Use {
  readonly trainStep: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** In the order of the batch, see `Lease.acknowledge`. */
  readonly advantages?: readonly Float32Array[];
}

/** Rows that a train step used up, in the order of its batch. */
export interface RecordedStep {
  readonly trainStep: number;
  readonly used: readonly number[];
  readonly dropped: readonly number[];
}
