import { describe, expect, it } from 'vitest';
import { learningRateAt } from './schedule.js';

const cosine = {
  learningRate: 1,
  kind: 'cosine',
  warmupSteps: 10,
  minRatio: 0.01,
  totalSteps: 100,
} as const;
const constant = { ...cosine, kind: 'constant' } as const;

describe('learningRateAt', () => {
  // From the vector `tinker_lr_factor`.
  it.each([
    [0, 0.01, 0.01],
    [5, 0.505, 0.505],
    [10, 1, 1],
    [50, 0.590955848, 1],
    [100, 0.01, 1],
  ])('step %d', (step, withCosine, withConstant) => {
    expect(learningRateAt(step, cosine)).toBeCloseTo(withCosine, 8);
    expect(learningRateAt(step, constant)).toBeCloseTo(withConstant, 8);
  });

  it('stays at the floor past the end', () =>
    expect(learningRateAt(1000, cosine)).toBeCloseTo(0.01, 12));
  it('begins at the peak without warm-up', () =>
    expect(learningRateAt(1, { ...constant, warmupSteps: 0 })).toBe(1));
});
