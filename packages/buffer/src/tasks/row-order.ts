/**
 * Computes the order of the rows of a task set from selector type, seed and position, so that a
 * resumed training run only needs the position.
 */
import { BufferError, createRandom, deriveSeed } from '@trinity-rft/core';

/** Selector types whose order does not depend on the contents of the rows. */
export type PlainSelectorType = 'sequential' | 'shuffle' | 'random';

/**
 * Returns the row numbers for `count` positions, starting at `cursor`. A position is the number of
 * rows that were returned before, since the beginning of the training run.
 */
export type RowOrder = (cursor: number, count: number) => readonly number[];

/**
 * Creates the order of rows.
 *
 * - `sequential`: file order, repeated.
 * - `shuffle`: a permutation per epoch, from (seed, name, epoch); every row once per epoch.
 * - `random`: each batch drawn without replacement, from (seed, name, position of the batch);
 *   batches are independent.
 *
 * @throws BufferError for any other selector type
 */
export function rowOrder(
  selectorType: PlainSelectorType,
  size: number,
  seed: number,
  name: string,
): RowOrder {
  if (!Object.hasOwn(orders, selectorType))
    throw new BufferError(
      `Task set "${name}": selectorType is ${JSON.stringify(selectorType)}. Expected sequential, shuffle, random, offline_easy2hard or difficulty_based.`,
      { code: 'ARGUMENT_INVALID' },
    );
  return orders[selectorType](size, (part, index) =>
    createRandom(deriveSeed(seed, 'task-order', name, part, index)),
  );
}

type StreamOf = (part: string, index: number) => ReturnType<typeof createRandom>;

const orders: Readonly<Record<PlainSelectorType, (size: number, streamOf: StreamOf) => RowOrder>> =
  {
    sequential: (size) => (cursor, count) =>
      Array.from({ length: count }, (_, i) => (cursor + i) % size),
    shuffle: (size, streamOf) => {
      const rows = Array.from({ length: size }, (_, row) => row);
      return epochByEpoch(size, (epoch) => streamOf('epoch', epoch).shuffle(rows));
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
 * Creates a function that returns `count` items, starting at position `cursor`. An epoch consists
 * of `size` items, in a different order in each epoch. The order of one epoch is kept in memory.
 */
export function epochByEpoch<T>(
  size: number,
  orderOf: (epoch: number) => readonly T[],
): (cursor: number, count: number) => readonly T[] {
  let current: { readonly epoch: number; readonly order: readonly T[] } | undefined;
  return (cursor, count) => {
    const items: T[] = [];
    while (items.length < count) {
      const position = cursor + items.length;
      const epoch = Math.floor(position / size);
      if (current?.epoch !== epoch) current = { epoch, order: orderOf(epoch) };
      const start = position % size;
      for (const item of current.order.slice(start, start + count - items.length)) items.push(item);
    }
    return items;
  };
}

/**
 * Draws `count` distinct row numbers in random order, by Fisher-Yates on a sparse table of swaps.
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
