/**
 * Supervised data as a place where a trainer reads: rows become experiences, batch by batch, in an
 * order that train steps number.
 */
import {
  assertAligned,
  boundary,
  BufferError,
  CancelledError,
  TaskError,
  type Experience,
  type ExperienceSource,
  type Lease,
  type RawTask,
} from '@trinity-rft/core';
import { rowOrder } from '../tasks/row-order.js';
import type { TaskOrderOptions } from '../tasks/task-source.js';
import { closedError, leaseEndedError, trainStepError } from '../store/errors.js';

export interface FileExperienceSourceOptions extends TaskOrderOptions {
  readonly rows: readonly RawTask[];
  /**
   * Tokenizes a row, which may make several experiences: they stay together, in this order. `row`
   * is its number.
   * @throws TaskError when the row cannot be used
   */
  readonly toExperiences: (
    rawTask: RawTask,
    row: number,
  ) => readonly Experience[] | Promise<readonly Experience[]>;
  /** Rows per train step; every take asks for as many. */
  readonly batchSize: number;
}

/**
 * Train step n reads batch n - 1: the position in the data is the number of the last acknowledged
 * step, so a checkpoint's step is all that a resumed run needs. The last batch may be smaller.
 */
export function fileExperienceSource(options: FileExperienceSourceOptions): ExperienceSource {
  const {
    name,
    rows,
    toExperiences,
    batchSize,
    selectorType = 'sequential',
    seed = 42,
    totalEpochs = 1,
  } = options;
  if (!Number.isInteger(batchSize) || batchSize < 1)
    throw batchSizeError(name, 'a batch size', batchSize);
  const end = rows.length === 0 ? 0 : (options.totalRows ?? Math.floor(totalEpochs * rows.length));
  const order = rowOrder(selectorType, rows.length, seed, name);
  /** Batches given back, in order; they come before `next`. */
  let returned: number[] = [];
  let next = 0;
  /** Leases of an earlier life are void. */
  let life = 0;
  let closed = false;

  const giveBack = (batch: number): void => {
    returned = [...returned, batch].sort((a, b) => a - b);
  };

  const readBatch = (first: number): Promise<readonly (readonly Experience[])[]> =>
    Promise.all(
      order(first, Math.min(batchSize, end - first)).map((row) =>
        readRow(name, rows[row]!, row, toExperiences),
      ),
    );

  const leaseOf = (batch: number, read: readonly (readonly Experience[])[]): Lease => {
    const bornIn = life;
    let state: 'open' | 'acknowledged' | 'released' | 'rolled back' = 'open';
    return {
      experiences: read.flat(),
      metrics: {
        'sample/task_count': read.length,
        'sample/epoch': Math.min(end, (batch + 1) * batchSize) / rows.length,
      },
      acknowledge: async (trainStep) => {
        if (closed) throw closedError('An acknowledgement');
        if (bornIn !== life) state = 'rolled back';
        if (state !== 'open') throw leaseEndedError(state);
        if (trainStep !== batch + 1) throw stepError(name, batch, trainStep);
        state = 'acknowledged';
      },
      release: async () => {
        if (state !== 'open' || bornIn !== life) return;
        state = 'released';
        giveBack(batch);
      },
    };
  };

  return {
    take: async (count, _filter, signal) => {
      if (closed) throw closedError('A take');
      if (count !== batchSize) throw batchSizeError(name, `batches of ${batchSize}`, count);
      if (signal?.aborted)
        throw new CancelledError(`Reading "${name}" was cancelled.`, {
          code: 'TAKE_CANCELLED',
          reason: 'aborted',
          cause: signal.reason,
        });
      if (returned.length === 0 && next * batchSize >= end) return undefined;
      const batch = returned.shift() ?? next++;
      try {
        return leaseOf(batch, await readBatch(batch * batchSize));
      } catch (error) {
        giveBack(batch);
        throw error;
      }
    },
    rollback: async (trainStep) => {
      if (!Number.isInteger(trainStep) || trainStep < 0) throw trainStepError(trainStep);
      life++;
      returned = [];
      next = trainStep;
    },
    close: async () => {
      closed = true;
    },
  };
}

async function readRow(
  name: string,
  rawTask: RawTask,
  row: number,
  toExperiences: FileExperienceSourceOptions['toExperiences'],
): Promise<readonly Experience[]> {
  const wrap = (cause: unknown): TaskError =>
    new TaskError(
      `Row ${row} of "${name}" cannot be made into an experience: ${(cause as Error).message}. Mend or remove the row.`,
      {
        code: 'SUPERVISED_ROW',
        details: { taskset: name, row },
        cause,
      },
    );
  return boundary(wrap, async () => {
    const experiences = await toExperiences(rawTask, row);
    experiences.forEach(assertAligned);
    return experiences;
  });
}

function batchSizeError(name: string, expected: string, found: number): BufferError {
  return new BufferError(
    `"${name}" was asked for ${found} rows; expected ${expected}, a whole number of at least 1 (buffer.train_batch_size).`,
    {
      code: 'BUFFER_COUNT',
    },
  );
}

function stepError(name: string, batch: number, trainStep: number): BufferError {
  return new BufferError(
    `Batch ${batch + 1} of "${name}" was acknowledged by train step ${trainStep}; expected step ${batch + 1}: one batch per step, counted from 1, is what a resumed run finds its place by.`,
    { code: 'BUFFER_TRAIN_STEP' },
  );
}
