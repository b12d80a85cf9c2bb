import { readFileSync } from 'node:fs';
import { evalMetrics } from '../packages/explorer/src/index.ts';
import { expect, it, vi } from 'vitest';

vi.stubGlobal(
  'metricsDocument',
  readFileSync(new URL('../docs/reference/metrics.md', import.meta.url), 'utf8'),
);
const { helpOf } = await import('../apps/studio/page/metric-help.ts');

const run = (reward: number) =>
  ({ status: 'ok', metrics: { reward, 'model/calls': 1 }, experiences: [] }) as never;
const outcome = { runs: [run(0), run(1), run(1), run(0)], seconds: 1 } as never;

it.each(['eval', 'bench'])('explains every metric of an evaluation: %s', (prefix) => {
  const names = Object.keys(evalMetrics([outcome, outcome], { detailed: true }));
  expect(names.length).toBeGreaterThan(30);
  const unexplained = names.filter((name) => helpOf(`${prefix}/set/${name}`).text === '');
  expect(unexplained).toEqual([]);
});

it('takes the meaning of the whole name', () => {
  expect(helpOf('eval/set/reward/mean@4').text).toContain('mean over the k runs of a task');
  expect(helpOf('eval/set/reward/mean@4/ci95_low').text).toContain('confidence interval');
  expect(helpOf('rollout/reward/mean').text).toContain('reward of the last step of each run');
  expect(helpOf('rollout/of-my-workflow').text).toBe('');
});
