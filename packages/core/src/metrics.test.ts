import { describe, expect, it } from 'vitest';
import {
  type Metrics,
  gatherMetrics,
  mean,
  meanMetrics,
  populationStd,
  prefixMetrics,
  sampleStd,
} from './metrics.js';

describe('gatherMetrics', () => {
  // The case `gather_metrics` of the original, whose detailed std is that of the sample.
  const records: Metrics[] = [{ a: 1, b: 2 }, { a: 3 }];

  it('gives mean, max and min of each key over the records that have it', () => {
    expect(gatherMetrics(records, 'p')).toEqual({
      'p/a/mean': 2,
      'p/a/max': 3,
      'p/a/min': 1,
      'p/b/mean': 2,
      'p/b/max': 2,
      'p/b/min': 2,
    });
  });

  it('adds the sample standard deviation when asked, 0 for one record', () => {
    const gathered = gatherMetrics(records, 'p', { std: true });
    expect(gathered['p/a/std']).toBeCloseTo(1.41421356, 8);
    expect(gathered['p/b/std']).toBe(0);
  });

  it('gives nothing for nothing', () => {
    expect(gatherMetrics([], 'p')).toEqual({});
  });
});

describe('the other ways to combine numbers', () => {
  it('meanMetrics averages each key over the records that have it', () => {
    expect(meanMetrics([{ a: 1, b: 2 }, { a: 3 }])).toEqual({ a: 2, b: 2 });
  });

  it('prefixMetrics puts a name in front', () => {
    expect(prefixMetrics('actor', { loss: 1, 'a/b': 2 })).toEqual({
      'actor/loss': 1,
      'actor/a/b': 2,
    });
  });

  it('mean and deviations are those of the numbers, not of their rounding', () => {
    const values = [1e8, 1e8 + 1, 1e8 + 2];
    expect([mean(values), sampleStd(values), populationStd(values)]).toEqual([
      1e8 + 1,
      1,
      Math.sqrt(2 / 3),
    ]);
    expect([mean([]), sampleStd([5]), populationStd([5])]).toEqual([NaN, 0, 0]);
  });
});
