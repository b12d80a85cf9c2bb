/**
 * The order in which the rows of a task set come, as a function of (selector type, seed, position):
 * nothing to remember, nothing to lose.
 */
import { createRandom, deriveSeed } from '@trinity-rft/core';

export type SelectorType = 'sequential' | 'shuffle' | 'random';

/**
 * Row numbers of the `count` positions from `cursor` on. Positions count rows handed out since the
 * beginning of the run.
 */
export type RowOrder = (cursor: number, count: number) => readonly number[];

/**
 * - `sequential`: as in the file, again and again.
 * - `shuffle`: a permutation per epoch, from (seed, name, epoch); every row once per epoch.
 * - `random`: each batch drawn without replacement, from (seed, name, position of the batch);
 * batches are independent.
 */
export function rowOrder(
  selectorType: SelectorType,
  size: number,
  seed: number,
  name: string,
): RowOrder {
  return orders[selectorType](size, (part, index) =>
    createRandom(deriveSeed(seed, 'task-order', name, part, index)),
  );
}

type StreamOf = (part: string, index: number) => ReturnType<typeof createRandom>;

const orders: Readonly<Record<SelectorType, (size: number, streamOf: StreamOf) => RowOrder>> = {
  sequential: (size) => (cursor, count) =>
    Array.from({ length: count }, (_, i) => (cursor + i) % size),
  shuffle: (size, streamOf) => {
    const rows = Array.from({ length: size }, (_, row) => row);
    let current = { epoch: -1, order: rows };
    return (cursor, count) =>
      Array.from({ length: count }, (_, i) => {
        const epoch = Math.floor((cursor + i) / size);
        if (epoch !== current.epoch)
          current = { epoch, order: streamOf('epoch', epoch).shuffle(rows) };
        return current.order[(cursor + i) % size]!;
      });
  },
  random: (size, streamOf) => (cursor, count) => {
    const random = streamOf('batch', cursor);
    const batch: number[] = [];
    while (batch.length < count)
      batch.push(...drawDistinct(size, Math.min(size, count - batch.length), random));
    return batch;
  },
};

/**
 * `count` distinct row numbers in random order: the first steps of Fisher-Yates, on a table that is
 * only written where it changes.
 */
function drawDistinct(
  size: number,
  count: number,
  random: { integer(below: number): number },
): readonly number[] {
  const moved = new Map<number, number>();
  return Array.from({ length: count }, (_, i) => {
    const j = i + random.integer(size - i);
    const drawn = moved.get(j) ?? j;
    moved.set(j, moved.get(i) ?? i);
    return drawn;
  });
}
