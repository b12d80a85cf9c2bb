import { createExperience, type RawTask } from '@trinity-rft/core';
import type { Lease } from '@trinity-rft/core/store';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  fileExperienceSource,
  type FileExperienceSourceOptions,
} from './file-experience-source.js';

const rowsOf = (size: number): readonly RawTask[] =>
  Array.from({ length: size }, (_, n) => ({ n }));
const toExperiences = (rawTask: RawTask, row: number) => [
  createExperience({ tokens: [1, row + 1], promptLength: 1, info: { n: rawTask['n'] } }),
];
const open = (size: number, options: Partial<FileExperienceSourceOptions> = {}) =>
  fileExperienceSource({
    name: 'sft',
    rows: rowsOf(size),
    toExperiences,
    batchSize: 4,
    ...options,
  });
const numbers = (lease: Lease | undefined) =>
  lease?.experiences.map((experience) => experience.info['n']);

it('hands out batches in order, then the remainder, then undefined', async () => {
  const source = open(10);
  expect(numbers(await source.take(4))).toEqual([0, 1, 2, 3]);
  expect(numbers(await source.take(4))).toEqual([4, 5, 6, 7]);
  expect(numbers(await source.take(4))).toEqual([8, 9]);
  expect(await source.take(4)).toBeUndefined();
  expect(await source.take(4)).toBeUndefined();
});

it('says how far into the data a batch is', async () => {
  const source = open(8, { totalEpochs: 2, selectorType: 'shuffle' });
  await source.take(4);
  expect((await source.take(4))?.metrics).toEqual({ 'sample/task_count': 4, 'sample/epoch': 1 });
});

it('continues after a rollback to any step as an uninterrupted run does', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 11 }),
      fc.integer({ min: 1, max: 4 }),
      fc.nat(),
      fc.nat({ max: 8 }),
      fc.nat({ max: 8 }),
      async (size, batchSize, seed, died, saved) => {
        const options = {
          batchSize,
          seed,
          selectorType: 'shuffle' as const,
          totalRows: batchSize * 8,
        };
        const whole = await train(open(size, options), batchSize, 1, 8);
        const first = open(size, options);
        await train(first, batchSize, 1, died);
        await first.take(batchSize);
        const step = Math.min(died, saved);
        for (const resumed of [first, open(size, options)]) {
          await resumed.rollback(step);
          expect(await train(resumed, batchSize, step + 1, 8)).toEqual(whole.slice(step));
        }
      },
    ),
  );
});

async function train(
  source: ReturnType<typeof open>,
  batchSize: number,
  from: number,
  to: number,
): Promise<unknown[]> {
  const seen: unknown[] = [];
  for (let step = from; step <= to; step++) {
    const lease = await source.take(batchSize);
    seen.push(numbers(lease));
    await lease?.acknowledge(step);
  }
  return seen;
}

it('gives released batches back in their old place', async () => {
  const source = open(12);
  const first = await source.take(4);
  const second = await source.take(4);
  await second?.release();
  await first?.release();
  await first?.release();
  expect(numbers(await source.take(4))).toEqual([0, 1, 2, 3]);
  expect(numbers(await source.take(4))).toEqual([4, 5, 6, 7]);
  expect(numbers(await source.take(4))).toEqual([8, 9, 10, 11]);
});

it('rejects acknowledgements that a resumed run could not find its place by', async () => {
  const source = open(12);
  const first = await source.take(4);
  await expect(first!.acknowledge(2)).rejects.toThrow(
    /Batch 1 of "sft" was acknowledged by train step 2; expected step 1/,
  );
  await first!.acknowledge(1);
  await expect(first!.acknowledge(1)).rejects.toMatchObject({ code: 'BUFFER_LEASE_ENDED' });
  const second = await source.take(4);
  await source.rollback(1);
  await expect(second!.acknowledge(2)).rejects.toMatchObject({ code: 'BUFFER_LEASE_ENDED' });
  await expect(source.rollback(-1)).rejects.toMatchObject({ code: 'BUFFER_TRAIN_STEP' });
  await expect(source.take(3)).rejects.toMatchObject({ code: 'BUFFER_COUNT' });
  await expect(source.take(4, {}, AbortSignal.abort())).rejects.toMatchObject({
    name: 'CancelledError',
  });
  await source.close();
  await expect(source.take(4)).rejects.toMatchObject({ code: 'BUFFER_CLOSED' });
  expect(() => open(3, { batchSize: 0 })).toThrow(/BUFFER|batch size/);
});

it('names the row that cannot become an experience, and offers it again', async () => {
  let broken = true;
  const source = open(4, {
    batchSize: 2,
    toExperiences: (rawTask, row) => {
      if (broken && row === 3) throw new RangeError('no answer');
      return toExperiences(rawTask, row);
    },
  });
  await (await source.take(2))!.acknowledge(1);
  await expect(source.take(2)).rejects.toMatchObject({
    name: 'TaskError',
    message: expect.stringContaining('Row 3 of "sft" cannot be made into an experience: no answer'),
  });
  broken = false;
  expect(numbers(await source.take(2))).toEqual([2, 3]);
});

it('keeps the experiences of a row together, counts rows, and continues by rows', async () => {
  const options = {
    toExperiences: (rawTask: RawTask, row: number) =>
      [0, 1].flatMap(() => toExperiences(rawTask, row)),
    batchSize: 3,
  };
  const source = open(7, { ...options, selectorType: 'shuffle' });
  const first = await source.take(3);
  expect(first?.experiences).toHaveLength(6);
  expect(first?.metrics).toMatchObject({ 'sample/task_count': 3 });
  const pairs = numbers(first)!;
  expect(pairs.filter((_, i) => i % 2 === 0)).toEqual(pairs.filter((_, i) => i % 2 === 1));
  await first!.acknowledge(1);
  const second = numbers(await source.take(3));
  await source.rollback(1);
  expect(numbers(await source.take(3))).toEqual(second);
  expect(numbers(await source.take(3))).toHaveLength(2);
});
