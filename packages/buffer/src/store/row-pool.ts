/** Pools of rows that wait for a trainer. A pool chooses the rows of the next batch. */
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
  /** Returns the rows of a grant to the pool, at the positions that they had before. */
  putBack(grant: Grant): void;
  /**
   * Handles that a train step has used the rows of a grant. A pool that allows reuse takes the rows
   * back.
   */
  settle(grant: Grant, use: Use): void;
  /** Replaces the rows in the pool, and the recorded train steps that are to be repeated first. */
  reset(rows: readonly StoredRow[], recorded?: readonly RecordedStep[]): void;
  /**
   * Removes and returns a batch, and the rows that are dropped before it. If there is no complete
   * batch, removes only rows that are too old.
   */
  pick(request: BatchRequest, limits: RowLimits): PoolPick;
  /** Returns the ids of rows that may be used again. */
  reusableIds(): Iterable<number>;
  /**
   * Returns true if rows will become available later, such as rows in their cooldown, so that the
   * trainer should wait for them. Called when no more rows will be added.
   */
  mayComeLater(): boolean;
  /**
   * Returns the time at which the next unavailable row becomes available, in milliseconds since the
   * epoch. Returns undefined if there is no such row.
   */
  nextAt(): number | undefined;
}

/** Creates a pool in which every row is used once, in the order of insertion. */
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
