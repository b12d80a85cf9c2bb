/**
 * Composes each batch from several task sets, in proportion to their sizes. Their positions are
 * saved as one state.
 */
import { BufferError, createRandom, deriveSeed } from '@trinity-rft/core';
import type { TaskSource, JsonState, TaskRow } from '@trinity-rft/core/store';
import { epochByEpoch } from './row-order.js';
import { assertCount, checkedCursor, countError } from './task-source.js';

interface ScheduledRow extends TaskRow {
  /** Name of the task set that the row belongs to. */
  readonly taskset: string;
}

/** A task source that combines several task sets. Each of its rows names its task set. */
export interface TasksetScheduler extends TaskSource {
  /** Total number of batches; Infinity if there is no limit. */
  readonly totalSteps: number;
  /** Returns the next rows. @param count number of rows. @default the batch size */
  next(count?: number): Promise<readonly ScheduledRow[]>;
}

export interface TasksetSchedulerOptions {
  /** Number of tasks per explore step. */
  readonly batchSize: number;
  /** Root seed of the training run. @default 42 */
  readonly seed?: number;
  /** Number of passes over all rows of all sets. An incomplete last batch is omitted. @default 1 */
  readonly totalEpochs?: number;
  /**
   * Total number of batches. Takes precedence over `totalEpochs`.
   * @default undefined: `totalEpochs` determines the number
   */
  readonly totalSteps?: number;
}

/**
 * Creates a scheduler with Trinity-RFT's order. A list contains each set as often as the set has
 * rows. For each epoch, it is shuffled with a seed from (seed, epoch). The next part of the list
 * determines from which sets the rows of a batch are taken. Each set supplies its rows in its own
 * order. If there is only one set, nothing is shuffled.
 * @param sources task sets that were opened without an end (`totalEpochs: Infinity`), with distinct
 * names
 * @throws BufferError if names are repeated, there are no sources, or a number is not a count
 */
export function createTasksetScheduler(
  sources: readonly TaskSource[],
  options: TasksetSchedulerOptions,
): TasksetScheduler {
  const { batchSize, seed = 42, totalEpochs = 1 } = options;
  assertDistinct(sources);
  const name = sources.map((source) => source.name).join('+');
  assertCount(name, 'batchSize', batchSize);
  if (!(totalEpochs >= 0)) throw countError(name, 'totalEpochs', totalEpochs);
  const size = sources.reduce((sum, source) => sum + source.size, 0);
  const totalSteps = options.totalSteps ?? Math.floor((totalEpochs * size) / batchSize);
  const end = totalSteps * batchSize;
  const list = sources.flatMap((source) => Array.from({ length: source.size }, () => source));
  const setsAt = epochByEpoch(size, (epoch) =>
    createRandom(deriveSeed(seed, 'taskset-order', epoch)).shuffle(list),
  );
  let cursor = 0;

  return {
    name,
    size,
    totalSteps,
    next: async (count = batchSize) => {
      assertCount(name, 'count', count);
      const wanted = size === 0 ? 0 : Math.max(0, Math.min(count, end - cursor));
      const rows = await drawRows(sources, setsAt(cursor, wanted));
      cursor += wanted;
      return rows;
    },
    feedback: (feedback) => {
      for (const source of sources)
        source.feedback?.(feedback.filter(({ taskset }) => taskset === source.name));
    },
    state: () => ({
      cursor,
      size,
      sources: Object.fromEntries(sources.map((source) => [source.name, source.state()])),
    }),
    restore: (state) => {
      // The sets come first, because their errors name the one that has changed.
      for (const source of sources) source.restore(stateOf(state, source.name));
      cursor = checkedCursor(state, 'all task sets', size);
    },
    close: async () => {
      await Promise.all(sources.map((source) => source.close()));
    },
  };
}

/**
 * Reads the rows of a batch. Reads from each set once, and returns the rows in the order of `sets`.
 */
async function drawRows(
  sources: readonly TaskSource[],
  sets: readonly TaskSource[],
): Promise<readonly ScheduledRow[]> {
  const drawn = new Map<TaskSource, Iterator<TaskRow>>();
  for (const source of sources) {
    const count = sets.filter((set) => set === source).length;
    const rows = count > 0 ? await source.next(count) : [];
    drawn.set(source, rows.values());
  }
  return sets.map((set) => {
    const row = drawn.get(set)?.next();
    if (row && !row.done) return { ...row.value, taskset: set.name };
    throw new BufferError(
      `Task set "${set.name}" has ended; expected one without an end. Open it with totalEpochs: Infinity.`,
      { code: 'TASKSET_ENDED' },
    );
  });
}

function assertDistinct(sources: readonly TaskSource[]): void {
  const names = sources.map((source) => source.name);
  const repeated = names.find((name, i) => names.indexOf(name) !== i);
  if (sources.length > 0 && repeated === undefined) return;
  throw new BufferError(
    `${repeated === undefined ? 'There is no task set' : `Two task sets are called "${repeated}"`}; expected at least one, each with its own name.`,
    { code: 'TASKSET_NAMES' },
  );
}

function stateOf(state: JsonState, name: string): JsonState {
  const saved = (state['sources'] as Readonly<Record<string, JsonState>> | undefined)?.[name];
  if (saved) return saved;
  throw new BufferError(
    `The saved state has no task set "${name}". Use the task sets that the run began with, or start a new run.`,
    { code: 'TASKSET_CHANGED' },
  );
}
