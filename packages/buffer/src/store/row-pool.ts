/** Rows that wait for a trainer, and the choice of the next ones. */
import { pickBatch, type BatchRequest, type PickedRows, type RowLimits } from './pick-batch.js';
import type { StoredRow } from './row-driver.js';
import type { Grant, Use, RecordedStep } from './row-driver.js';

export interface PoolPick extends PickedRows {
  readonly recordedStep?: number;
}

export interface RowPool {
  /** Number of rows in the pool. */
  readonly length: number;
  /** Number of rows that were never trained on. */
  readonly newRows: number;
  /** The oldest row that was never trained on. */
  readonly oldestNew: StoredRow | undefined;
  add(rows: readonly StoredRow[]): void;
  /** Returns rows to their old place. */
  putBack(grant: Grant): void;
  /** Reports that a train step has used the rows. */
  settle(grant: Grant, use: Use): void;
  /** Replaces the contents, and the train steps to repeat before anything else. */
  reset(rows: readonly StoredRow[], recorded?: readonly RecordedStep[]): void;
  /**
   * Removes and returns a batch, and the rows that are dropped before it. Without a complete batch,
   * only rows that are too old are removed.
   */
  pick(request: BatchRequest, limits: RowLimits): PoolPick;
  /** Ids of rows that may be used again. */
  reusableIds(): Iterable<number>;
  /**
   * True if the trainer should wait for rows that are not available yet, such as rows in their
   * cool-down. Called once no more rows are added.
   */
  mayComeLater(): boolean;
  /**
   * Time at which the next unavailable row becomes available, in milliseconds since the epoch;
   * undefined if there is none.
   */
  nextAt(): number | undefined;
}

/** A pool that is first in, first out; every row is used once. */
export function fifoPool(initial: readonly StoredRow[]): RowPool {
  let rows = [...initial];
  return {
    get length() {
      return rows.length;
    },
    get newRows() {
      return rows.length;
    },
    get oldestNew() {
      return rows[0];
    },
    add: (added) => {
      for (const row of added) rows.push(row);
    },
    putBack: ({ used, stale }) => {
      if (used.length + stale.length > 0)
        rows = [...rows, ...used, ...stale].sort((a, b) => a.id - b.id);
    },
    settle: () => undefined,
    reset: (replaced) => {
      rows = [...replaced];
    },
    pick: (request, limits) => {
      const picked = pickBatch(rows, request, limits);
      const { used, stale, complete } = picked;
      const rest = rows.slice(used.length + stale.length);
      rows = complete ? rest : [...used, ...rest];
      return picked;
    },
    reusableIds: () => [],
    mayComeLater: () => false,
    nextAt: () => undefined,
  };
}
