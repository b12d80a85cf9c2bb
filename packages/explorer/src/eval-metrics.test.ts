import { defaultFormatArgs, type Task } from '@trinity-rft/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evalMetrics, expectedBest } from './eval-metrics.js';
import type { RunOutcome, TaskOutcome } from './run-task.js';

const outcome = (values: readonly (number | undefined)[]): TaskOutcome => ({
  task: { formatArgs: defaultFormatArgs } as Task,
  runs: values.map((value, run): RunOutcome =>
    value === undefined
      ? { status: 'failed', run, kind: 'failed', error: new Error('x'), seconds: 1 }
      : { status: 'ok', run, experiences: [], reward: value, metrics: { reward: value }, seconds: 1 },
  ),
  retries: 0,
  timeouts: 0,
  seconds: 2,
});

describe('expectedBest', () => {
  it('is pass@n for successes and failures', () => {
    // 1 - C(2, 2) / C(4, 2) with two successes among four.
    expect(expectedBest([0, 1, 0, 1], 2)).toBeCloseTo(1 - 1 / 6, 12);
    expect(expectedBest([0, 1, 0, 1], 3)).toBeCloseTo(1, 12);
  });

  it('equals the mean over all subsets', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 1, maxLength: 7 }),
        fc.integer({ min: 1, max: 7 }),
        (values, wanted) => {
          const n = Math.min(wanted, values.length);
          const subsets = Array.from({ length: 2 ** values.length }, (_, bits) => values.filter((_value, i) => (bits >> i) & 1)).filter(
            (subset) => subset.length === n,
          );
          const average = subsets.reduce((sum, subset) => sum + Math.max(...subset), 0) / subsets.length;
          expect(expectedBest(values, n)).toBeCloseTo(average, 9);
        },
      ),
    );
  });
});

describe('evalMetrics', () => {
  it('spreads each number over the tasks on request', () => {
    const metrics = evalMetrics([outcome([1]), outcome([0])], { detailed: true });
    expect(metrics).toMatchObject({
      'reward/mean@1': 0.5,
      'reward/mean@1/max': 1,
      'reward/mean@1/min': 0,
      'reward/mean@1/std': Math.SQRT1_2,
    });
  });

  it('counts failures as zero and reports them', () => {
    const metrics = evalMetrics([outcome([1, undefined]), outcome([1, 1]), outcome([undefined, undefined])]);
    expect(metrics).toMatchObject({ finished_task_count: 1, failed_task_count: 1, failed_run_count: 3, 'reward/mean@2': 0.5 });
    expect(metrics['reward/best@2']).toBeCloseTo(2 / 3, 12);
    expect(metrics['reward/worst@2']).toBeCloseTo(1 / 3, 12);
  });
});
