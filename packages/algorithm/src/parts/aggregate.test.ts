import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lossInput } from '../../test/arbitrary.js';
import { aggregateLoss, permuteRows } from '../../test/batches.js';
import { aggregationWeights, lossAggModes, meanOf, type LossAggMode } from './aggregate.js';

const modes = fc.constantFrom(...lossAggModes);

describe('aggregation weights', () => {
  it('average a constant to that constant, and sum it in the modes that sum', () => {
    const input = { offsets: Int32Array.of(0, 3, 4), actionMask: Uint8Array.of(1, 0, 1, 1) };
    const ones = [1, 1, 1, 1];
    const aggregate = lossAggModes.map((mode) =>
      aggregateLoss(ones, aggregationWeights(input, mode)),
    );
    // 3 trained tokens in 2 rows; the longest row has 3 tokens.
    expect(aggregate.map((value) => value.toFixed(6))).toEqual([
      '1.000000',
      '1.500000',
      '1.000000',
      '1.000000',
    ]);
  });

  it.each(lossAggModes)('do not change when a run is split into calls: %s', (mode) => {
    const actionMask = Uint8Array.of(1, 1, 0, 1, 1, 1, 1);
    const whole = aggregationWeights({ offsets: Int32Array.of(0, 5, 7), actionMask }, mode);
    const offsets = Int32Array.of(0, 1, 2, 5, 7);
    const split = { offsets, actionMask, runs: Int32Array.of(0, 0, 0, 1) };
    expect([...aggregationWeights(split, mode)]).toEqual([...whole]);
    expect([...aggregationWeights(split, mode, { rows: Uint8Array.of(0, 0, 0, 1) })]).toEqual([
      ...aggregationWeights({ offsets: Int32Array.of(0, 5, 7), actionMask }, mode, {
        rows: Uint8Array.of(0, 1),
      }),
    ]);
  });

  it('weigh rows equally in seq-mean-token-mean and tokens equally in token-mean', () => {
    const input = { offsets: Int32Array.of(0, 4, 5), actionMask: Uint8Array.of(1, 1, 1, 1, 1) };
    const values = [0, 0, 0, 0, 1];
    expect(aggregateLoss(values, aggregationWeights(input, 'token-mean'))).toBeCloseTo(0.2, 7);
    expect(aggregateLoss(values, aggregationWeights(input, 'seq-mean-token-mean'))).toBeCloseTo(
      0.5,
      7,
    );
  });

  it('divide by a constant where one is given: Dr. GRPO per row, or a sum over all rows', () => {
    const input = { offsets: Int32Array.of(0, 2, 5), actionMask: Uint8Array.of(1, 1, 1, 0, 1) };
    const values = [1, 2, 3, 100, 4];
    const aggregate = (mode: LossAggMode): number =>
      aggregateLoss(values, aggregationWeights(input, mode, { norm: 8 }));
    expect(aggregate('seq-mean-token-sum')).toBeCloseTo(10 / 2 / 8, 12);
    expect(aggregate('seq-mean-token-sum-norm')).toBeCloseTo(10 / 8, 7);
  });

  it('of some rows are those of a batch of these rows alone', () => {
    fc.assert(
      fc.property(lossInput, modes, (input, mode) => {
        const weights = aggregationWeights(input, mode, { norm: 10, rows: input.expertMask! });
        const experts = [...input.expertMask!.keys()].filter((row) => input.expertMask![row] === 1);
        const alone = permuteRows(input, experts);
        const taken = experts.flatMap((row) => [
          ...weights.subarray(input.offsets[row], input.offsets[row + 1]),
        ]);
        expect([...aggregationWeights(alone, mode, { norm: 10 })]).toEqual(taken);
        expect(weights.filter((weight) => weight !== 0).length).toBe(
          taken.filter((weight) => weight !== 0).length,
        );
      }),
    );
  });

  it('are 0 for masked tokens, whose values have no influence', () => {
    fc.assert(
      fc.property(lossInput, modes, (input, mode) => {
        const weights = aggregationWeights(input, mode);
        weights.forEach((weight, t) => expect(weight > 0).toBe(input.actionMask[t] === 1));
        const spoiled = input.currentLogprobs.map((value, t) =>
          input.actionMask[t] === 1 ? value : NaN,
        );
        expect(aggregateLoss(spoiled, weights)).toBe(aggregateLoss(input.currentLogprobs, weights));
      }),
    );
  });

  it('do not depend on the order of the rows', () => {
    fc.assert(
      fc.property(lossInput, modes, ({ offsets, actionMask }, mode) => {
        const rows = Array.from(
          { length: offsets.length - 1 },
          (_, row) => [offsets[row]!, offsets[row + 1]!] as const,
        ).toReversed();
        const reversed = {
          offsets: Int32Array.from([
            0,
            ...rows.map((_, i) =>
              rows.slice(0, i + 1).reduce((sum, [start, end]) => sum + end - start, 0),
            ),
          ]),
          actionMask: Uint8Array.from(
            rows.flatMap(([start, end]) => [...actionMask.subarray(start, end)]),
          ),
        };
        const weights = aggregationWeights({ offsets, actionMask }, mode);
        expect([...aggregationWeights(reversed, mode)]).toEqual(
          rows.flatMap(([start, end]) => [...weights.subarray(start, end)]),
        );
      }),
    );
  });

  it('give 0 for a batch without trained tokens', () => {
    const input = { offsets: Int32Array.of(0, 2), actionMask: Uint8Array.of(0, 0) };
    for (const mode of lossAggModes)
      expect(aggregateLoss([5, 5], aggregationWeights(input, mode))).toBe(0);
    expect(meanOf(0, 0)).toBe(0);
  });
});
