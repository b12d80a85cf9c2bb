import { type Metrics, type Task, meanMetrics, defaultFormatArgs } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import vectors from '../../test/trinity-eval-metrics.json' with { type: 'json' };
import { evalMetrics, keyMetrics } from './eval-metrics.js';
import type { RunOutcome, TaskOutcome } from '../runs/outcome.js';

const outcome = (values: readonly (number | undefined)[]): TaskOutcome => ({
  task: { formatArgs: defaultFormatArgs } as Task,
  runs: values.map((value, run): RunOutcome =>
    value === undefined
      ? { status: 'failed', run, kind: 'failed', error: new Error('x'), seconds: 1 }
      : {
          status: 'ok',
          run,
          experiences: [],
          reward: value,
          metrics: { reward: value },
          seconds: 1,
        },
  ),
  retries: 0,
  timeouts: 0,
  seconds: 2,
});

describe('figures of Trinity-RFT', () => {
  const rows = vectors.cases.flatMap(({ values, metrics }) =>
    Object.entries(metrics).map(([name, figure]) => ({ values, name, figure })),
  );

  const ofAccuracy = rows.filter(({ name }) => name.startsWith('accuracy/'));
  const isEstimate = (name: string) => /(?:best|worst)@/.test(name);

  it.each(ofAccuracy.filter(({ name }) => !isEstimate(name)))(
    '$values: $name is $figure',
    ({ values, name, figure }) => {
      expect(keyMetrics('accuracy', values)[name]).toBeCloseTo(figure, 8);
    },
  );

  it.each(ofAccuracy.filter(({ name }) => isEstimate(name)))(
    '$values: $name is estimated as $figure',
    ({ values, name, figure }) => {
      // Five standard errors of Trinity-RFT's mean of 1000 draws; the standard deviation of a draw
      // is at most half the range of the values.
      const range = Math.max(...values) - Math.min(...values);
      const tolerance = (5 * range) / 2 / Math.sqrt(1000);
      const found = keyMetrics('accuracy', values)[name] ?? Number.NaN;
      expect(Math.abs(found - figure)).toBeLessThanOrEqual(tolerance);
    },
  );

  it.each(
    vectors.cases.flatMap(({ values, exact_expectation: exact }) =>
      Object.entries(exact).map(([name, figure]) => ({ values, name, figure })),
    ),
  )('$values: the exact expectation of $name is $figure', ({ values, name, figure }) => {
    expect(keyMetrics('accuracy', values)[name]).toBeCloseTo(figure, 8);
  });

  it('are plain means for times, and for training', () => {
    expect(keyMetrics('time/run_execution', [1, 3])).toEqual({ 'time/run_execution': 2 });
    expect(meanMetrics(vectors.train_mode.in as Metrics[])).toEqual(vectors.train_mode.out);
  });

  it('are means over tasks', () => {
    const {
      tasks,
      'eval/dummy/accuracy/mean@2': mean,
      'eval/dummy/accuracy/std@2': std,
    } = vectors.docs;
    const metrics = evalMetrics(tasks.map(outcome));
    expect(metrics['reward/mean@2']).toBeCloseTo(mean, 6);
    expect(metrics['reward/std@2']).toBeCloseTo(std, 6);
  });
});

describe('evalMetrics', () => {
  it('has names that do not depend on which runs failed', () => {
    const names = (values: (number | undefined)[][]) =>
      Object.keys(evalMetrics(values.map(outcome))).toSorted();
    expect(
      names([
        [1, 1, 0],
        [0, undefined, undefined],
      ]),
    ).toEqual(
      names([
        [0, 1, 0],
        [1, 1, 1],
      ]),
    );
    expect(names([[undefined, undefined]])).toEqual([
      'failed_run_count',
      'failed_task_count',
      'finished_task_count',
      'run_count',
      'task_count',
      'time/task_execution',
    ]);
  });

  it('takes tasks with different numbers of runs apart', () => {
    expect(evalMetrics([outcome([1]), outcome([1, 0]), outcome([0, 0])])).toMatchObject({
      'reward/mean@1': 1,
      'reward/mean@2': 0.25,
    });
  });

  it('says how sure the mean is, for two tasks or more', () => {
    const metrics = evalMetrics([1, 1, 1, 1, 1, 1, 1, 1, 0, 0].map((value) => outcome([value])));
    // Wilson's interval of 8 successes in 10, e.g. by R's prop.test without correction.
    expect(metrics['reward/mean@1/ci95_low']).toBeCloseTo(0.4901625, 6);
    expect(metrics['reward/mean@1/ci95_high']).toBeCloseTo(0.9433178, 6);
    expect(evalMetrics([outcome([1])])).not.toHaveProperty('reward/mean@1/ci95_low');
  });

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
    const metrics = evalMetrics([
      outcome([1, undefined]),
      outcome([1, 1]),
      outcome([undefined, undefined]),
    ]);
    expect(metrics).toMatchObject({
      finished_task_count: 1,
      failed_task_count: 1,
      failed_run_count: 3,
      'reward/mean@2': 0.5,
    });
    expect(metrics['reward/pass@2']).toBeCloseTo(2 / 3, 12);
    expect(metrics['reward/pass^2']).toBeCloseTo(1 / 3, 12);
    expect(metrics).toMatchObject({ task_count: 3, run_count: 6 });
  });
});
