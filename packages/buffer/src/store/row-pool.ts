/** The rows that wait for a trainer, and which of them it gets next. */
import { pickBatch, type BatchRequest, type PickedRows, type RowLimits } from './pick-batch.js';
import type { StoredRow } from './row-driver.js';
import type { Grant, Use, RecordedStep } from './row-driver.js';

export interface PoolPick extends PickedRows {
  readonly recordedStep?: number;
}

export interface RowPool {
  /** Rows in the pool. */
  readonly length: number;
  /** Rows that were never trained on. */
  readonly newRows: number;
  /** The oldest row that was never trained on. */
  readonly oldestNew: StoredRow | undefined;
  add(rows: readonly StoredRow[]): void;
  /** Returns rows to their old place. */
  putBack(grant: Grant): void;
  /** A train step has used them. */
  settle(grant: Grant, use: Use): void;
  /** Replaces what is in it, and the train steps that are made again before anything else. */
  reset(rows: readonly StoredRow[], recorded?: readonly RecordedStep[]): void;
  /** Takes out a batch, and what is dropped before it. What is no batch stays in. */
  pick(request: BatchRequest, limits: RowLimits): PoolPick;
  /** Ids of rows that may be used again. */
  reusableIds(): Iterable<number>;
  /** Asked once no more rows are added: some that are in it become available later. */
  mayComeLater(): boolean;
  /** When a row becomes available that is not yet, in milliseconds since the epoch. */
  nextAt(): number | undefined;
}

/** First in, first out; every row is used once. */
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
