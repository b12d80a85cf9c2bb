/** Divides generated tasks into two splits, so that no task occurs in both. */
import {
  type RawTask,
  type SplitName,
  type TaskRange,
  createRandom,
  deriveSeed,
  TaskError,
} from '@trinity-rft/core';

/** Average number of generated tasks per task in the evaluation split: one in ten belongs to it. */
const evalShare = 10;

/**
 * Draws rows until `count` different tasks of the split are found. A task's split depends on its
 * content, not on its index, so that a puzzle that is drawn twice cannot be in both splits.
 * @param draw returns the row for a 32-bit seed
 * @param keyOf returns a key of the row's content; rows with equal keys are the same task
 * @throws TaskError if too few different tasks are found
 */
export function rowsOfSplit(
  { split, count, seed }: TaskRange,
  draw: (seed: number) => RawTask,
  keyOf: (row: RawTask) => string,
): readonly RawTask[] {
  const random = createRandom(deriveSeed(seed, 'tasks', split));
  const rows = new Map<string, RawTask>();
  let repeats = 0;
  // So many draws in sequence without a new task mean that there are no more.
  while (rows.size < count && repeats++ <= 1000 + 100 * rows.size) {
    const row = draw(random.integer(2 ** 32));
    const key = keyOf(row);
    if (splitOf(key) !== split) continue;
    if (!rows.has(key)) repeats = 0;
    rows.set(key, row);
  }
  if (rows.size === count) return [...rows.values()];
  throw new TaskError(
    `There are only ${rows.size} different tasks in split "${split}", ${count} were asked for. Ask for fewer, or for a higher difficulty.`,
    { code: 'TASKS_TOO_FEW', details: { found: rows.size } },
  );
}

/** Returns the split to which a task belongs, given the key of its content. */
const splitOf = (key: string): SplitName =>
  deriveSeed(0, key) % evalShare === 0 ? 'eval' : 'train';
