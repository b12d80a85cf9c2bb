import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tinyModels } from '../../test/support/models.js';
import { backwardCost, headChunks } from './memory.js';
import { gatherPicked, planMicroBatches, scatterPicked, toArrays } from './micro-batch.js';
import { type MemoryCost } from './memory.js';
import { checkedRows, responseOffsets } from './rows.js';

const config = { ...tinyModels.qwen3, maxPositions: 4096 };
const positions: MemoryCost = (rows, time) => rows * time;

function rowsOf(lengths: readonly number[]) {
  const batch = {
    rows: lengths.map((length) => ({
      tokens: new Int32Array(length).map((_, i) => i % 7),
      promptLength: 1,
      temperature: 1,
    })),
  };
  return checkedRows(batch, responseOffsets(batch), config);
}

const lengths = fc.array(fc.integer({ min: 2, max: 400 }), { minLength: 1, maxLength: 40 });

describe('a plan', () => {
  test('runs every row once, in micro-batches that fit the budget or hold a single row', () => {
    fc.assert(
      fc.property(lengths, fc.integer({ min: 100, max: 5000 }), (sizes, budget) => {
        const plan = planMicroBatches(rowsOf(sizes), positions, budget);
        const seen = plan.flatMap((micro) => micro.rows.map((row) => row.index));
        expect(seen.toSorted((a, b) => a - b)).toEqual(sizes.map((_, i) => i));
        for (const micro of plan) {
          expect(micro.rows.length === 1 || micro.rows.length * micro.time <= budget).toBe(true);
          expect(micro.time).toBe(Math.max(2, ...micro.rows.map((row) => row.tokens.length - 1)));
          expect(micro.picked).toBe(micro.rows.reduce((sum, row) => sum + row.count, 0));
        }
      }),
    );
  });

  test('evens out what does not fit at once', () => {
    const plan = planMicroBatches(
      rowsOf(Array.from({ length: 16 }, () => 129)),
      positions,
      15 * 128,
    );
    expect(plan.map((micro) => micro.rows.length)).toEqual([8, 8]);
  });

  test('does not pad short rows to the length of long ones', () => {
    const plan = planMicroBatches(
      rowsOf([2000, ...Array.from({ length: 200 }, () => 20), 1990]),
      positions,
      1e6,
    );
    expect(plan.map((micro) => micro.time)).toEqual([1999, 19]);
  });
});

test('the arrays of a micro-batch point at the positions before the response tokens, and back', () => {
  const tokens = [Int32Array.of(5, 6, 7, 8), Int32Array.of(1, 2, 3)];
  const batch = {
    rows: [
      { tokens: tokens[0]!, promptLength: 2, temperature: 0.5 },
      { tokens: tokens[1]!, promptLength: 1, temperature: 1 },
    ],
  };
  const [micro] = planMicroBatches(
    checkedRows(batch, responseOffsets(batch), config),
    positions,
    100,
  );
  expect(toArrays(micro!, 4)).toEqual({
    ids: Int32Array.of(5, 6, 7, 1, 2, 0),
    rows: Int32Array.of(1, 2, 3, 4, 0, 0, 0, 0),
    targets: Int32Array.of(7, 8, 2, 3, 0, 0, 0, 0),
    inverseTemperature: Float32Array.of(2, 2, 1, 1, 1, 1, 1, 1),
    spread: Int32Array.of(7, 0, 1, 2, 3, 7),
    padded: 8,
  });
});

test('picked numbers come back to their places', () => {
  fc.assert(
    fc.property(lengths, fc.integer({ min: 100, max: 5000 }), (sizes, budget) => {
      const rows = rowsOf(sizes);
      const numbers = Float32Array.from(
        { length: rows.reduce((sum, row) => sum + row.count, 0) },
        (_, i) => i + 1,
      );
      const back = new Float32Array(numbers.length);
      for (const micro of planMicroBatches(rows, positions, budget))
        scatterPicked(micro, gatherPicked(micro, numbers, micro.picked + 1), back);
      expect(back).toEqual(numbers);
    }),
  );
});

test('the head has one part for small vocabularies and more for large ones', () => {
  expect(
    [64, 2048, 10_000, 16_384, 32_768, 151_936].map((vocabSize) =>
      headChunks({ ...config, vocabSize }),
    ),
  ).toEqual([1, 1, 1, 2, 4, 16]);
});

test('memory grows with the square of the length and not with the rows that are not scored', () => {
  const cost = backwardCost(config);
  expect(cost(1, 2000, 10)).toBeGreaterThan(2 * cost(2, 500, 10));
  expect(cost(2, 100, 10)).toBeLessThan(cost(2, 100, 200));
});
