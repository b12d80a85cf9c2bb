import { createExperience, type Experience, withFields } from '@trinity-rft/core';
import { mergeCalls } from '@trinity-rft/core/internal';
import { describe, expect, it } from 'vitest';
import { dataMetrics } from './data-metrics.js';
import { packBatch } from './pack.js';

const call = (step: number, tokens: readonly number[], promptLength: number): Experience =>
  withFields(
    createExperience({
      eid: { batch: 1, task: 0, run: 0, step },
      tokens,
      promptLength,
      logprobs: tokens.slice(promptLength).map((token) => -token),
      policyVersion: step,
      temperature: 1,
      reward: step,
    }),
    { advantages: Float32Array.from(tokens.slice(promptLength), () => step + 1) },
  );

const calls = [call(0, [1, 2, 3, 4], 2), call(1, [1, 2, 3, 4, 5, 6], 5), call(2, [9, 8], 1)];
const merged = mergeCalls(calls).experiences;

describe('packBatch', () => {
  it('gives the loss the same rows for merged calls as for single ones', () => {
    expect(merged).toHaveLength(2);
    const [one, all] = [
      packBatch(calls, { advantages: true }),
      packBatch(merged, { advantages: true }),
    ];
    expect(all.static).toEqual(one.static);
    expect(one.tokens.rows).toHaveLength(3);
    expect(all.tokens.rows).toHaveLength(2);
    expect(dataMetrics(all, { step: 5, maxResponseTokens: 2 })).toEqual(
      dataMetrics(one, { step: 5, maxResponseTokens: 2 }),
    );
    expect(dataMetrics(all, { step: 5, maxResponseTokens: 2 })).toMatchObject({
      'sample/staleness/mean': 3,
      'sample/staleness/max': 4,
      'response_length/clip_ratio': 1 / 3,
    });
  });

  it('moves numbers between the layouts, with nothing between calls', () => {
    const { toLoss, toEngine } = packBatch(merged, { advantages: true });
    const engine = Float32Array.of(10, 11, 12, 13, 20);
    expect(toLoss(engine)).toEqual(Float32Array.of(10, 11, 13, 20));
    expect(toEngine(toLoss(engine))).toEqual(Float32Array.of(10, 11, 0, 13, 20));
  });

  it('leaves numbers of single calls where they are', () => {
    const { toLoss, toEngine } = packBatch(calls, { advantages: true });
    const values = Float32Array.of(1, 2, 3, 4);
    expect([toLoss(values), toEngine(values)]).toEqual([values, values]);
  });
});
