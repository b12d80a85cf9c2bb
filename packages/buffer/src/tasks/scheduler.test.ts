import { BufferError } from '@trinity-rft/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createTasksetScheduler } from './scheduler.js';
import { createTaskSource } from './task-source.js';

const open = (
  sizes: readonly number[],
  selector: 'shuffle' | 'random' | 'sequential' = 'shuffle',
) =>
  sizes.map((size, i) =>
    createTaskSource(
      Array.from({ length: size }, (_, n) => ({ n })),
      { name: `set${i}`, selectorType: selector, totalEpochs: Infinity },
    ),
  );

it('gives every row of every set once per epoch, mixed, and leaves an incomplete last batch out', async () => {
  const scheduler = createTasksetScheduler(open([6, 3]), { batchSize: 2 });
  expect(scheduler).toMatchObject({ size: 9, totalSteps: 4, name: 'set0+set1' });
  const seen: string[] = [];
  for (let batch = await scheduler.next(); batch.length > 0; batch = await scheduler.next()) {
    expect(batch).toHaveLength(2);
    seen.push(...batch.map(({ taskset, row }) => `${taskset}/${row}`));
  }
  expect(seen).toHaveLength(8);
  expect(new Set(seen).size).toBe(8);
  expect(seen.slice(0, 6).some((name) => name.startsWith('set1'))).toBe(true);
});

it('continues after a resume as without one', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 });
  const selector = fc.constantFrom('shuffle' as const, 'random' as const, 'sequential' as const);
  await fc.assert(
    fc.asyncProperty(
      sizes,
      selector,
      fc.integer({ min: 1, max: 5 }),
      fc.nat({ max: 12 }),
      fc.nat(),
      async (counts, kind, batchSize, stopAt, seed) => {
        const options = { batchSize, seed, totalSteps: 15 };
        const whole = createTasksetScheduler(open(counts, kind), options);
        const uninterrupted = await steps(whole, 15);
        const before = createTasksetScheduler(open(counts, kind), options);
        const head = await steps(before, stopAt);
        const after = createTasksetScheduler(open(counts, kind), options);
        after.restore(JSON.parse(JSON.stringify(before.state())) as Record<string, unknown>);
        expect([...head, ...(await steps(after, 15 - stopAt))]).toEqual(uninterrupted);
        expect(await after.next()).toEqual([]);
      },
    ),
  );
});

it('keeps the order of a single set', async () => {
  const [alone] = open([5]);
  const scheduler = createTasksetScheduler(open([5]), { batchSize: 5 });
  expect((await scheduler.next()).map(({ row }) => row)).toEqual(
    (await alone!.next(5)).map(({ row }) => row),
  );
});

it('stops at the given number of steps, over as many epochs as that takes', async () => {
  const scheduler = createTasksetScheduler(open([2, 1]), { batchSize: 2, totalSteps: 7 });
  expect((await steps(scheduler, 20)).flat()).toHaveLength(14);
});

it('says when a set ends before the scheduler does, and when names repeat or are unknown', async () => {
  const short = createTaskSource([{ n: 0 }], { name: 'short' });
  await expect(
    createTasksetScheduler([short], { batchSize: 2, totalSteps: 1 }).next(),
  ).rejects.toThrow(/"short" has ended/);
  expect(() => createTasksetScheduler([...open([1]), ...open([1])], { batchSize: 1 })).toThrow(
    BufferError,
  );
  expect(() => createTasksetScheduler([], { batchSize: 1 })).toThrow(BufferError);
  const scheduler = createTasksetScheduler(open([2]), { batchSize: 1 });
  expect(() => scheduler.restore({ cursor: 1, sources: {} })).toThrow(/has no task set "set0"/);
  const [before, grown] = [open([2, 2]), open([2, 3])].map((sets) =>
    createTasksetScheduler(sets, { batchSize: 1 }),
  );
  expect(() => grown!.restore(before!.state())).toThrow('"set1" has 3 rows; it had 2');
});

async function steps(
  scheduler: ReturnType<typeof createTasksetScheduler>,
  count: number,
): Promise<readonly (readonly string[])[]> {
  const out: string[][] = [];
  for (let i = 0; i < count; i++)
    out.push((await scheduler.next()).map(({ taskset, row }) => `${taskset}/${row}`));
  return out;
}
