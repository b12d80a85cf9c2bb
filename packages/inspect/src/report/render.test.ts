import { expect, it } from 'vitest';
import { renderEnd, renderMetric, renderReport } from './render.js';

it('has the newest evaluations of the first and the last step', () => {
  const rewards = [
    [0, 0.5],
    [20, 0.25],
    [20, 0.75],
    [0, 0.375],
  ] as const;
  const metrics = rewards.map(([step, mean]) => ({
    ...({ role: 'bench', step, timing: {} } as const),
    metrics: { 'bench/t/reward/mean@1': mean },
  }));
  const report = renderReport({
    jobDirectory: '/x',
    stages: [{ directory: '/x', metrics, log: [] }],
  });
  expect(report).toContain('0.375 (after step 0) -> 0.750 (after step 20)');
});

it('keeps the step of the evaluation at the end when the run becomes longer', () => {
  const line = (step: number, name: string, mean: number) => ({
    ...({ role: 'explorer', step, timing: {} } as const),
    metrics: { [name]: mean },
  });
  const explored = (step: number) => line(step, 'rollout/reward/mean', 0.5);
  const evaluated = (step: number, mean: number) => line(step, 'eval/t/reward/mean@1', mean);
  // It ended after step 1, and later after step 2; step 2 is also evaluated as it is explored.
  const metrics = [explored(1), evaluated(2, 0.25), explored(2), evaluated(2, 0.75)];
  const stages = [{ directory: '/x', metrics, log: [] }];
  expect(renderReport({ jobDirectory: '/x', stages })).toContain(
    '0.250 (after step 1) -> 0.750 (after step 2)',
  );
});

it('shows that a metric is not finite any more', () => {
  const metrics = [0.5, 0.25, null].map((loss, i) => ({
    ...{ role: 'trainer' as const, step: i + 1, timing: {} },
    metrics: { 'actor/final_loss': loss },
  }));
  const stages = [{ directory: '/x', metrics, log: [] }];
  expect(renderMetric({ jobDirectory: '/x', stages }, 'loss')).toMatch(
    /1\t0\.5\n2\t0\.25\n3\tNaN\n$/,
  );
});

it('has no best reward where none is finite', () => {
  const metrics = [1, 2].map((step) => ({
    ...({ role: 'explorer', step, timing: {} } as const),
    metrics: { 'rollout/reward/mean': null },
  }));
  const stages = [{ directory: '/x', metrics, log: [] }];
  expect(renderReport({ jobDirectory: '/x', stages })).toContain('NaN -> NaN in 2 explore steps\n');
});

it('ends with the stage that trained, where a benchmark follows it', async () => {
  const line = (role: 'explorer' | 'bench', step: number, name: string) => ({
    ...({ role, step, timing: {} } as const),
    metrics: { [name]: 0.5 },
  });
  const trained = [line('explorer', 0, 'eval/t/reward/mean@1'), line('explorer', 1, 'rollout/x')];
  const benched = [line('bench', 0, 'bench/t/reward/mean@1')];
  const stages = [trained, benched].map((metrics, i) => ({ directory: `/${i}`, metrics, log: [] }));
  expect(await renderEnd({ jobDirectory: '/x', stages })).toContain('eval/t  0.500 (after step 0)');
});
