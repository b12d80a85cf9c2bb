/**
 * A storage driver of the experience store: it keeps rows. Queue, leases and waiting are in
 * lease-store.ts.
 */
import type { Experience } from '@trinity-rft/core';
import type { JsonState } from '@trinity-rft/core/internal';

/** What the queue needs of a stored experience. */
export interface StoredRow {
  /** Place in insertion order, from 1. */
  readonly id: number;
  readonly policyVersion: number;
  /** See `uid` of core. */
  readonly uid: string;
}

/** Numbers of rows; `total` = waiting and leased + `trained` + `dropped`. */
interface RowCounts {
  readonly total: number;
  readonly trained: number;
  readonly dropped: number;
}

/**
 * Rows in insertion order, each with the train step that used it up. Calls are synchronous and
 * atomic: one that throws has changed nothing, one that returns is durable.
 */
export interface RowDriver {
  /**
   * Appends the batch and replaces the explorer's state, if one is given.
   * @throws BufferError when a uid is already stored
   */
  insert(batch: readonly Experience[], explorerState: JsonState | undefined): readonly StoredRow[];
  read(rows: readonly StoredRow[]): readonly Experience[];
  /** Records that `trainStep` trained on `used` and dropped `dropped` as too old. */
  settle(used: readonly StoredRow[], dropped: readonly StoredRow[], trainStep: number): void;
  /** The last train step that used rows up; 0 = none. */
  trainedUpTo(): number;
  /**
   * Undoes every `settle` of a step after `trainStep`.
   * @throws BufferError when rows of such a step have been pruned
   */
  unsettle(trainStep: number): void;
  /** Deletes what steps up to `trainStep` have used up; `counts` still counts it. */
  prune(trainStep: number): void;
  /**
   * Rows that no train step has used up, in insertion order.
   * @param after only those with a larger id.
   * @default 0
   */
  unsettled(after?: number): StoredRow[];
  explorerState(): JsonState | undefined;
  /** Of rows of an explore step after `exploreStep` (the first part of the uid). */
  firstTrainStepAfter(exploreStep: number): number | undefined;
  counts(): RowCounts;
  close(): void;
}
