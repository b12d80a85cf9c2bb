/**
 * Draws each batch from several task sets, in proportion to their sizes, with one state to resume
 * from.
 */
import {
  BufferError,
  createRandom,
  deriveSeed,
  type JsonState,
  type TaskRow,
  type TaskSource,
} from '@trinity-rft/core';
import { checkedCursor } from './task-source.js';

export interface ScheduledRow extends TaskRow {
  /** Name of the task set that the row is from. */
  readonly taskset: string;
}

/** A task source whose rows say which set they are from. */
export interface TasksetScheduler extends TaskSource {
  /** Batches until the end; Infinity when nothing bounds them. */
  readonly totalSteps: number;
  /** @param count @default the batch size */
  next(count?: number): Promise<readonly ScheduledRow[]>;
}

export interface TasksetSchedulerOptions {
  /** Tasks per explore step. */
  readonly batchSize: number;
  /** Root seed of the run. @default 42 */
  readonly seed?: number;
  /** Passes over all rows of all sets. A batch that would not be full is left out. @default 1 */
  readonly totalEpochs?: number;
  /** Batches in all; wins over `totalEpochs`. */
  readonly totalSteps?: number;
}

/**
 * The original's order: a list that names every set as often as it has rows, shuffled per epoch
 * from (seed, epoch); a batch is the next part of the list, and each set gives its own next rows. A
 * single set comes in its own order.
 * @param sources opened without an end of their own (`totalEpochs: Infinity`), with distinct names
 * @throws BufferError for repeated names, or none
 */
export function createTasksetScheduler(
  sources: readonly TaskSource[],
  options: TasksetSchedulerOptions,
): TasksetScheduler {
  const { batchSize, seed = 42, totalEpochs = 1 } = options;
  assertDistinct(sources);
  const size = sources.reduce((sum, source) => sum + source.size, 0);
  const totalSteps = options.totalSteps ?? Math.floor((totalEpochs * size) / batchSize);
  const end = totalSteps * batchSize;
  const setAt = setOrder(sources, size, seed);
  let cursor = 0;

  return {
    name: sources.map((source) => source.name).join('+'),
    size,
    totalSteps,
    next: async (count = batchSize) => {
      const wanted = Math.max(0, Math.min(count, end - cursor));
      const sets = Array.from({ length: wanted }, (_, i) => setAt(cursor + i));
      const rows = await drawRows(sources, sets);
      cursor += wanted;
      return rows;
    },
    state: () => ({
      cursor,
      size,
      sources: Object.fromEntries(sources.map((source) => [source.name, source.state()])),
    }),
    restore: (state) => {
      const restored = checkedCursor(state, 'all task sets', size);
      for (const source of sources) source.restore(stateOf(state, source.name));
      cursor = restored;
    },
    close: async () => {
      await Promise.all(sources.map((source) => source.close()));
    },
  };
}

/** Which set (its index) a position belongs to. Keeps one epoch. */
function setOrder(
  sources: readonly TaskSource[],
  size: number,
  seed: number,
): (position: number) => number {
  const list = sources.flatMap((source, index) => Array.from({ length: source.size }, () => index));
  let current = { epoch: -1, order: list };
  return (position) => {
    const epoch = Math.floor(position / size);
    if (epoch !== current.epoch)
      current = {
        epoch,
        order: createRandom(deriveSeed(seed, 'taskset-order', epoch)).shuffle(list),
      };
    return current.order[position % size]!;
  };
}

/** One read per set and batch, dealt out in the order of `sets`. */
async function drawRows(
  sources: readonly TaskSource[],
  sets: readonly number[],
): Promise<readonly ScheduledRow[]> {
  const drawn: (readonly TaskRow[])[] = [];
  for (const [index, source] of sources.entries()) {
    const count = sets.filter((set) => set === index).length;
    const rows = count > 0 ? await source.next(count) : [];
    if (rows.length < count) {
      throw new BufferError(
        `Task set "${source.name}" ended; expected it to go on for as long as the scheduler asks. Open it with totalEpochs: Infinity.`,
        {
          code: 'TASKSET_ENDED',
        },
      );
    }
    drawn.push(rows);
  }
  const used = sources.map(() => 0);
  return sets.map((set) => ({ ...drawn[set]![used[set]!++]!, taskset: sources[set]!.name }));
}

function assertDistinct(sources: readonly TaskSource[]): void {
  const names = sources.map((source) => source.name);
  const repeated = names.find((name, i) => names.indexOf(name) !== i);
  if (sources.length > 0 && repeated === undefined) return;
  throw new BufferError(
    `${repeated === undefined ? 'There is no task set' : `Two task sets are called "${repeated}"`}; expected at least one, each with its own name.`,
    {
      code: 'TASKSET_NAMES',
    },
  );
}

function stateOf(state: JsonState, name: string): JsonState {
  const saved = (state['sources'] as Readonly<Record<string, JsonState>> | undefined)?.[name];
  if (saved) return saved;
  throw new BufferError(
    `The saved state does not know the task set "${name}". Use the task sets that the run began with, or start a new run.`,
    {
      code: 'TASKSET_CHANGED',
    },
  );
}
