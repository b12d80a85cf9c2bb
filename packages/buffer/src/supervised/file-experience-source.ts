/**
 * Provides supervised data as a source of experiences. Each train step gets one batch of rows, in a
 * fixed order.
 */
import {
  type Experience,
  type RawTask,
  BufferError,
  CancelledError,
  TaskError,
} from '@trinity-rft/core';
import { assertAligned } from '@trinity-rft/core/internal';
import type { ExperienceSource, Lease } from '@trinity-rft/core/store';
import { boundary } from '@trinity-rft/core/support';
import { rowOrder, type PlainSelectorType, type RowOrder } from '../tasks/row-order.js';
import type { SelectorOptions } from '../tasks/selector.js';
import type { TaskOrderOptions } from '../tasks/task-source.js';
import { assertTrainStep, closedError, leaseEndedError } from '../store/errors.js';

export interface FileExperienceSourceOptions extends Omit<TaskOrderOptions, keyof SelectorOptions> {
  /** Order of the rows. @default "sequential" */
  readonly selectorType?: PlainSelectorType;
  readonly rows: readonly RawTask[];
  /**
   * Tokenizes a row. If a row yields several experiences, they stay in the same batch, in this
   * order.
   * @param row row number
   * @throws TaskError if the row cannot be used
   */
  readonly toExperiences: (
    rawTask: RawTask,
    row: number,
  ) => readonly Experience[] | Promise<readonly Experience[]>;
  /** Number of rows per train step. Each call of `take` must request this number. */
  readonly batchSize: number;
}

/**
 * Creates the source. Train step n reads batch n - 1, so the position in the data follows from the
 * train step of the checkpoint alone when a training run is resumed. The last batch may be smaller.
 */
export function fileExperienceSource(options: FileExperienceSourceOptions): ExperienceSource {
  const { name, rows, batchSize, totalEpochs = 1 } = options;
  if (!Number.isInteger(batchSize) || batchSize < 1)
    throw batchSizeError(name, 'a batch size', batchSize);
  const { selectorType = 'sequential', seed = 42 } = options;
  const totalRows = options.totalRows ?? Math.floor(totalEpochs * rows.length);
  const source: SourceState = {
    ...options,
    end: rows.length === 0 ? 0 : totalRows,
    order: rowOrder(selectorType, rows.length, seed, name),
    nextBatch: 0,
    released: [],
    rollbacks: 0,
    closed: false,
  };
  return {
    take: (count, _filter, signal) => take(source, count, signal),
    rollback: async (trainStep) => {
      assertTrainStep(trainStep);
      source.rollbacks++;
      source.released = [];
      source.nextBatch = trainStep;
    },
    close: async () => {
      source.closed = true;
    },
  };
}

interface SourceState extends Pick<
  FileExperienceSourceOptions,
  'name' | 'rows' | 'toExperiences' | 'batchSize'
> {
  /** Number of rows to read in total, over all epochs. */
  readonly end: number;
  readonly order: RowOrder;
  /** Index of the next batch, from 0. */
  nextBatch: number;
  /**
   * Indices of batches whose leases were released, in ascending order. They are returned again
   * before `nextBatch`.
   */
  released: number[];
  /**
   * Number of rollbacks so far. It tells leases from before a rollback, which are invalid, from
   * later ones.
   */
  rollbacks: number;
  closed: boolean;
}

async function take(
  source: SourceState,
  count: number,
  signal: AbortSignal | undefined,
): Promise<Lease | undefined> {
  const { name, batchSize, end } = source;
  if (source.closed) throw closedError('take');
  if (count !== batchSize) throw batchSizeError(name, `batches of ${batchSize}`, count);
  if (signal?.aborted)
    throw new CancelledError(`Reading "${name}" was cancelled.`, {
      code: 'TAKE_CANCELLED',
      reason: 'aborted',
      cause: signal.reason,
    });
  if (source.released.length === 0 && source.nextBatch * batchSize >= end) return undefined;
  const batch = source.released.shift() ?? source.nextBatch++;
  try {
    return leaseOf(source, batch, await readBatch(source, batch));
  } catch (error) {
    putBack(source, batch);
    throw error;
  }
}

function putBack(source: SourceState, batch: number): void {
  source.released = [...source.released, batch].sort((a, b) => a - b);
}

function readBatch(
  source: SourceState,
  batch: number,
): Promise<readonly (readonly Experience[])[]> {
  const { order, batchSize, end } = source;
  const first = batch * batchSize;
  const rows = order(first, Math.min(batchSize, end - first));
  return Promise.all(rows.map((row) => readRow(source, row)));
}

function leaseOf(
  source: SourceState,
  batch: number,
  experiences: readonly (readonly Experience[])[],
): Lease {
  const { name, rows, batchSize, end, rollbacks } = source;
  let state: 'open' | 'acknowledged' | 'released' = 'open';
  const isRolledBack = (): boolean => source.rollbacks > rollbacks;
  return {
    experiences: experiences.flat(),
    metrics: {
      'sample/task_count': experiences.length,
      'sample/epoch': Math.min(end, (batch + 1) * batchSize) / rows.length,
    },
    acknowledge: async (trainStep) => {
      if (source.closed) throw closedError('acknowledge');
      if (isRolledBack()) throw leaseEndedError('rolled back');
      if (state !== 'open') throw leaseEndedError(state);
      if (trainStep !== batch + 1) throw stepError(name, batch, trainStep);
      state = 'acknowledged';
    },
    release: async () => {
      if (state !== 'open' || isRolledBack()) return;
      state = 'released';
      putBack(source, batch);
    },
  };
}

async function readRow(
  { name, rows, toExperiences }: SourceState,
  row: number,
): Promise<readonly Experience[]> {
  const unusable = (cause: unknown): TaskError =>
    new TaskError(
      `Row ${row} of "${name}" cannot be made into an experience: ${(cause as Error).message}. Fix or remove the row.`,
      { code: 'SUPERVISED_ROW', details: { taskset: name, row }, cause },
    );
  return boundary(unusable, async () => {
    const experiences = await toExperiences(rows[row] ?? {}, row);
    experiences.forEach(assertAligned);
    return experiences;
  });
}

function batchSizeError(name: string, expected: string, found: number): BufferError {
  return new BufferError(
    `"${name}" was asked for ${found} rows; expected ${expected}, a whole number of at least 1 (buffer.train_batch_size).`,
    { code: 'BUFFER_COUNT' },
  );
}

function stepError(name: string, batch: number, trainStep: number): BufferError {
  return new BufferError(
    `Batch ${batch + 1} of "${name}" was acknowledged by train step ${trainStep}; expected step ${batch + 1}: each step uses one batch, counted from 1, so that a resumed run finds its place.`,
    { code: 'BUFFER_TRAIN_STEP' },
  );
}
