import { describe, expect, test } from 'vitest';
import { tinyModels } from '../../test/support/models.js';
import { linearShapes } from './parameters.js';
import { exactScoring } from './column-parts.js';

const small = {
  ...tinyModels.qwen3,
  vocabSize: 128,
  hiddenSize: 128,
  headDim: 32,
  intermediateSize: 384,
};
const wide = {
  ...tinyModels.qwen3,
  vocabSize: 2048,
  hiddenSize: 320,
  heads: 5,
  kvHeads: 5,
  headDim: 64,
  intermediateSize: 896,
};

describe('the trainer computes in parts', () => {
  test('nothing with one thread, which always takes all columns', () => {
    for (const config of [small, wide]) {
      const { parts } = exactScoring(config, { train: 1, sample: 1 });
      for (const shape of linearShapes(config)) expect(parts(shape)).toEqual([shape[0]]);
    }
  });

  test('deep layers of which two threads would take fewer columns than a block has', () => {
    const { parts, leastRows } = exactScoring(small, { train: 2, sample: 2 });
    expect(linearShapes(small).filter((shape) => parts(shape).length > 1)).toEqual([[128, 384]]);
    expect(parts([128, 384])).toEqual([64, 64]);
    expect(leastRows).toBe(64);
  });

  test('nothing for a sampler with one thread, but then enough rows that two threads of its own share them instead of columns', () => {
    const { parts, leastRows } = exactScoring(small, { train: 2, sample: 1 });
    for (const shape of linearShapes(small)) expect(parts(shape)).toEqual([shape[0]]);
    expect(leastRows).toBe(128);
  });

  test('and fills up to as many rows as keep the parts whole', () => {
    expect(exactScoring(wide, { train: 8, sample: 8 }).leastRows).toBeGreaterThanOrEqual(
      Math.max(...exactScoring(wide, { train: 8, sample: 8 }).parts([320, 896])),
    );
  });
});
