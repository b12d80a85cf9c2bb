/**
 * A task source over rows in memory, which keeps a single cursor. It determines the order of the
 * rows and after how many rows the source ends.
 */
import { type RawTask, BufferError } from '@trinity-rft/core';
import type { TaskSource, JsonState, TaskRow } from '@trinity-rft/core/store';
import { createSelector, type SelectorOptions } from './selector.js';

export interface TaskOrderOptions extends SelectorOptions {
  /**
   * Name of the task set. The seed of the order depends on it, so that two sets of the same size
   * have different orders.
   */
  readonly name: string;
  /** Root seed of the training run. @default 42 */
  readonly seed?: number;
  /** Number of passes over the rows. May be a fraction or Infinity. @default 1 */
  readonly totalEpochs?: number;
  /**
   * Total number of rows to return. Takes precedence over `totalEpochs`.
   * @default undefined: `totalEpochs` determines the number
   */
  readonly totalRows?: number;
}

/**
 * Creates a task source over rows in memory. `state()` returns `{ cursor, size }`, where `cursor`
 * is the number of rows returned so far and `size` the number of rows in the set. If the selector
 * has a state, it is included.
 * @throws TaskError if rows lack the columns that the selector needs, and BufferError if
 * `totalEpochs` is below 0 or `totalRows` is not a whole number
 */
export function createTaskSource(rows: readonly RawTask[], options: TaskOrderOptions): TaskSource {
  const { name, seed = 42, totalEpochs = 1 } = options;
  const size = rows.length;
  if (!(totalEpochs >= 0)) throw countError(name, 'totalEpochs', totalEpochs);
  if (options.totalRows !== undefined) assertCount(name, 'totalRows', options.totalRows);
  const end = options.totalRows ?? Math.floor(totalEpochs * size);
  const selector = createSelector(rows, { ...options, seed });
  let cursor = 0;
  let closed = false;
  return {
    name,
    size,
    next: async (count): Promise<readonly TaskRow[]> => {
      if (closed)
        throw new BufferError(
          `Task set "${name}" was read after it was closed. Close it after its last reader.`,
          {
            code: 'TASKSET_CLOSED',
          },
        );
      assertCount(name, 'count', count);
      const wanted = size === 0 ? 0 : Math.max(0, Math.min(count, end - cursor));
      const selected = wanted === 0 ? [] : selector.select(cursor, wanted);
      const batch = selected.map((row) => ({ row, rawTask: rows[row]! }));
      cursor += wanted;
      return batch;
    },
    feedback: (feedback) => selector.feedback?.(feedback),
    state: () => (selector.state ? { cursor, size, selector: selector.state() } : { cursor, size }),
    restore: (state) => {
      cursor = checkedCursor(state, name, size);
      const learned = state['selector'] as JsonState | undefined;
      if (learned) selector.restore?.(learned);
    },
    close: async () => {
      closed = true;
    },
  };
}

/** @throws BufferError if `count` is not a whole number of at least 0 */
export function assertCount(name: string, what: string, count: number): void {
  if (!Number.isInteger(count) || count < 0) throw countError(name, what, count);
}

export const countError = (name: string, what: string, count: number): BufferError =>
  new BufferError(
    `Task set "${name}": ${what} is ${count}; expected a${what === 'totalEpochs' ? '' : ' whole'} number of at least 0.`,
    { code: 'ARGUMENT_INVALID' },
  );

/**
 * Returns the cursor in a saved state, after checking that the state belongs to this set.
 * @throws BufferError if the state is invalid or belongs to another set
 */
export function checkedCursor(state: JsonState, name: string, size: number): number {
  const { cursor, size: savedSize = size } = state;
  if (typeof cursor !== 'number' || !Number.isInteger(cursor) || cursor < 0) {
    throw new BufferError(
      `The saved state of task set "${name}" has the cursor ${JSON.stringify(cursor)}; expected a whole number. Start a new run.`,
      { code: 'TASKSET_STATE' },
    );
  }
  if (savedSize !== size) {
    throw new BufferError(
      `Task set "${name}" has ${size} rows; it had ${String(savedSize)} when the run was interrupted. Restore the old file, or start a new run: the order of the tasks cannot be the same.`,
      { code: 'TASKSET_CHANGED' },
    );
  }
  return cursor;
}
