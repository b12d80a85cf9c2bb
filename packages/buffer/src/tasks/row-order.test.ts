import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rowOrder, type PlainSelectorType } from './row-order.js';
import { createTasksetScheduler } from './scheduler.js';
import { createTaskSource } from './task-source.js';

const rowsOf = (size: number) => Array.from({ length: size }, (_, n) => ({ n }));
const selector = fc.constantFrom<PlainSelectorType>('sequential', 'shuffle', 'random');

/** Reads batch by batch; a batch of 0 means "save the state and continue in a fresh source". */
async function readAll(
  open: () => ReturnType<typeof createTaskSource>,
  batches: readonly number[],
): Promise<number[]> {
  let source = open();
  const seen: number[] = [];
  for (const count of batches) {
    if (count === 0) {
      const state = JSON.parse(JSON.stringify(source.state())) as Record<string, unknown>;
      source = open();
      source.restore(state);
    } else seen.push(...(await source.next(count)).map(({ row }) => row));
  }
  return seen;
}

describe('every order', () => {
  it('is the same after a resume as without one', async () => {
    const batches = fc.array(fc.nat({ max: 6 }), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(
        selector,
        fc.integer({ min: 1, max: 9 }),
        fc.nat(),
        fc.integer({ min: 1, max: 5 }),
        batches,
        async (kind, size, seed, epochs, counts) => {
          const open = () =>
            createTaskSource(rowsOf(size), {
              name: 'sums',
              selectorType: kind,
              seed,
              totalEpochs: epochs,
            });
          expect(await readAll(open, counts)).toEqual(
            await readAll(
              open,
              counts.filter((count) => count > 0),
            ),
          );
        },
      ),
    );
  });

  it('hands out the requested number of rows, and then none', async () => {
    await fc.assert(
      fc.asyncProperty(
        selector,
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 0, max: 40 }),
        fc.integer({ min: 1, max: 7 }),
        async (kind, size, total, batch) => {
          const source = createTaskSource(rowsOf(size), {
            name: 'sums',
            selectorType: kind,
            totalRows: total,
          });
          let count = 0;
          for (
            let rows = await source.next(batch);
            rows.length > 0;
            rows = await source.next(batch)
          )
            count += rows.length;
          expect(count).toBe(total);
          expect(await source.next(batch)).toEqual([]);
        },
      ),
    );
  });
});

it('wraps a sequential set around', () => {
  expect(rowOrder('sequential', 3, 1, 'sums')(2, 5)).toEqual([2, 0, 1, 2, 0]);
});

it('shuffles every row into every epoch once, each epoch its own way, whatever the batches are', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fc.nat(), (size, seed) => {
      const order = rowOrder('shuffle', size, seed, 'sums');
      const epochs = [0, 1, 2].map((epoch) => order(epoch * size, size));
      for (const epoch of epochs)
        expect(epoch.toSorted((a, b) => a - b)).toEqual(rowsOf(size).map(({ n }) => n));
      expect(order(0, 3 * size)).toEqual(epochs.flat());
    }),
  );
  const order = rowOrder('shuffle', 1_000, 7, 'sums');
  expect(order(1_000, 1_000)).not.toEqual(order(0, 1_000));
});

it('draws random batches without a repetition inside one, as often each row', () => {
  const order = rowOrder('random', 20, 7, 'sums');
  const counts = new Map<number, number>();
  for (let batch = 0; batch < 2_000; batch++) {
    const rows = order(batch * 8, 8);
    expect(new Set(rows).size).toBe(8);
    for (const row of rows) counts.set(row, (counts.get(row) ?? 0) + 1);
  }
  // 800 expected each; a binomial of 2000 draws at 0.4 has a standard deviation of 22.
  for (const count of counts.values()) expect(Math.abs(count - 800)).toBeLessThan(110);
});

it('repeats rows in a random batch only when the set is smaller than the batch', () => {
  const rows = rowOrder('random', 3, 1, 'sums')(0, 7);
  expect(new Set(rows.slice(0, 3)).size).toBe(3);
  expect(new Set(rows.slice(3, 6)).size).toBe(3);
});

it('depends on the seed and on the name of the set', () => {
  const [first, otherSeed, otherName] = [
    rowOrder('shuffle', 50, 1, 'a'),
    rowOrder('shuffle', 50, 2, 'a'),
    rowOrder('shuffle', 50, 1, 'b'),
  ].map((order) => order(0, 50));
  expect(otherSeed).not.toEqual(first);
  expect(otherName).not.toEqual(first);
});

it('rejects the state of another set', () => {
  const source = createTaskSource(rowsOf(3), { name: 'sums' });
  expect(() => source.restore({ cursor: 1, size: 4 })).toThrow(/"sums" has 3 rows; it had 4/);
  for (const cursor of [undefined, -1, 0.5, '3'])
    expect(() => source.restore({ cursor })).toThrow(/cursor/);
  source.restore({ cursor: 2 });
  expect(source.state()).toEqual({ cursor: 2, size: 3 });
});

it('rejects counts that are not whole, and leaves the cursor where it was', async () => {
  const source = createTaskSource(rowsOf(3), { name: 'sums' });
  const scheduler = createTasksetScheduler([createTaskSource(rowsOf(3), { name: 'sums' })], {
    batchSize: 1,
  });
  for (const count of [2.5, NaN, -1, undefined as never]) {
    await expect(source.next(count)).rejects.toThrow(
      `Task set "sums": count is ${count}; expected a whole number of at least 0.`,
    );
  }
  await expect(scheduler.next(2.5)).rejects.toThrow(/count is 2\.5/);
  expect([source.state(), scheduler.state()['cursor']]).toEqual([{ cursor: 0, size: 3 }, 0]);
  for (const wrong of [{ totalEpochs: NaN }, { totalEpochs: -1 }, { totalRows: 2.5 }])
    expect(() => createTaskSource(rowsOf(3), { name: 'sums', ...wrong })).toThrow(/expected a /);
  for (const wrong of [{ batchSize: 0.5 }, { batchSize: 1, totalEpochs: NaN }])
    expect(() => createTasksetScheduler([source], wrong)).toThrow(/expected a /);
});

it('rejects reads after it was closed', async () => {
  const source = createTaskSource(rowsOf(3), { name: 'sums' });
  await source.close();
  await expect(source.next(1)).rejects.toMatchObject({ code: 'TASKSET_CLOSED' });
});
