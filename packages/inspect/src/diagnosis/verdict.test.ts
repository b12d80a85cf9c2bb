import { expect, it } from 'vitest';
import type { MetricLine } from '@trinity-rft/monitor';
import { metricsOf } from './evidence/record.js';
import { trendOf } from './evidence/series.js';
import { verdictOf } from './verdict.js';

const explored = (rewards: readonly number[]): readonly MetricLine[] =>
  rewards.map((reward, i) => ({
    role: 'explorer',
    step: i + 1,
    metrics: { 'rollout/reward/mean': reward, 'rollout/reward/max': reward && 1 },
  }));

const evaluated = (step: number, mean: number, half: number): MetricLine => ({
  role: 'explorer',
  step,
  metrics: {
    'eval/held_out/reward/mean@1': mean,
    'eval/held_out/reward/mean@1/ci95_low': mean - half,
    'eval/held_out/reward/mean@1/ci95_high': mean + half,
  },
});

const verdict = (...lines: readonly MetricLine[]): unknown => {
  const found = verdictOf({ ...metricsOf(lines), rollouts: [] });
  return found && [found.kind, found.text, found.cause?.name];
};

const rising = explored([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
const zeros = explored([0, 0, 0, 0, 0, 0]);

it('follows the evaluations, where the interval of their difference excludes 0', () => {
  expect(verdict(evaluated(0, 0.1, 0.05), ...rising, evaluated(7, 0.5, 0.1))).toEqual([
    'learned',
    'On the evaluation tasks "held_out", the mean reward rose from 0.1 to 0.5.',
    undefined,
  ]);
  expect(verdict(evaluated(0, 0.5, 0.05), ...rising, evaluated(7, 0.1, 0.1))).toEqual([
    'worse',
    'On the evaluation tasks "held_out", the mean reward fell from 0.5 to 0.1.',
    'eval-falls',
  ]);
});

it('leaves open what only the training reward shows', () => {
  expect(verdict(evaluated(0, 0.1, 0.2), ...rising, evaluated(7, 0.2, 0.2))).toEqual([
    'unclear',
    'On the evaluation tasks "held_out", the mean reward went from 0.1 to 0.2, which chance alone may do.',
    undefined,
  ]);
});

it('leaves open a training reward that jumps early and stays at its plateau', () => {
  const plateau = explored([0.5625, 1.40625, ...Array<number>(28).fill(1.5)]);
  const after = evaluated(31, 1.5, 0);
  const metrics = { ...after.metrics, 'eval/held_out/task_count': 4 };
  expect(verdict(evaluated(0, 0.625, 1.2), ...plateau, { ...after, metrics })).toEqual([
    'unclear',
    'On the evaluation tasks "held_out", the mean reward went from 0.625 to 1.5, which chance alone may do with 4 tasks.',
    undefined,
  ]);
  expect(verdict(...plateau)).toEqual([
    'notEvaluated',
    'The training reward rose from 0.5625 to 1.5.',
    undefined,
  ]);
  const dropped = explored([1.5, 0.7, ...Array<number>(28).fill(0.5)]);
  expect(verdict(...dropped)).toEqual([
    'worse',
    'The training reward fell from 1.5 to 0.5.',
    'reward-collapse',
  ]);
});

it.each([
  ['a slope of 2.05 standard errors', 1, [0.4, 0.5, 0.8, 0, 0.1, 0.1, 0.1, 0.1]],
  ['one low value before steps that lie apart', 10, [0, 0.8, 0.9, 0.9, 0.7, 0.5, 0.8, 0.7]],
])('takes %s for no trend', (_, apart, values) => {
  expect(trendOf(values.map((value, i) => ({ step: 1 + apart * i, value })))).toBe('same');
});

it('takes a reward that only wavers for no change', () => {
  const wavering = explored(Array.from({ length: 30 }, (_, i) => 1 + 0.1 * Math.sin(5 * i * i)));
  expect(verdict(...wavering)).toEqual([
    'same',
    'The training reward did not move more than by chance, from 1 to 1.1.',
    undefined,
  ]);
});

it('names the first cause where nothing was learned', () => {
  expect(verdict(evaluated(0, 0, 0), ...zeros, evaluated(7, 0, 0))).toEqual([
    'same',
    'On the evaluation tasks "held_out", the mean reward stayed at 0.',
    'reward-floor',
  ]);
});

it('takes the training reward where nothing was evaluated, and says nothing without one', () => {
  expect(verdict(...rising)).toEqual([
    'notEvaluated',
    'The training reward rose from 0.1 to 0.6.',
    undefined,
  ]);
  expect(verdict(...zeros)).toEqual(['same', 'The training reward stayed at 0.', 'reward-floor']);
  expect(verdict()).toBeUndefined();
});

it('compares the newest values of the first and the last step of repeated evaluations', () => {
  const benched = (step: number, mean: number): MetricLine => ({
    ...{ role: 'bench', step },
    metrics: {
      'bench/t/reward/mean@1': mean,
      'bench/t/reward/mean@1/ci95_low': mean - 0.02,
      'bench/t/reward/mean@1/ci95_high': mean + 0.02,
    },
  });
  const second = [benched(20, 0.5), benched(0, 0.75)];
  expect(verdict(benched(0, 0.25), benched(20, 0.625), ...second)).toEqual(verdict(...second));
  expect(verdict(...second)).toEqual([
    'worse',
    'On the evaluation tasks "t", the mean reward fell from 0.75 to 0.5.',
    undefined,
  ]);
});
