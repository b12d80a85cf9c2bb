import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { diagnosis, whatIf, whatIfChoices } from '../../src/studio/interface/schemas.js';
import { openWorkbench, runId, saying, type Workbench } from './support.js';

const rows = Array.from({ length: 40 }, (_, i) =>
  saying(`task ${Math.floor(i / 4)}`, i % 2 ? '42' : 'no idea', {
    eid: { batch: 1 + Math.floor(i / 20), task: Math.floor(i / 4) % 5, run: i % 4 },
    reward: 0,
    metrics: { right: i % 2 },
  }),
);

/** More lines than a record uses without sampling. */
const lines = Array.from(
  { length: 6000 },
  (_, i) =>
    `{"role":"explorer","step":${i + 1},"metrics":{"rollout/reward/mean":0,"rollout/reward/max":0,"rollout/reward/min":0},"timing":{}}\n`,
).join('');

describe('insight', () => {
  let bench: Workbench;
  const run = encodeURIComponent(runId);
  beforeAll(async () => {
    bench = await openWorkbench(rows);
    const monitor = path.join(bench.root, runId, 'monitor');
    mkdirSync(monitor);
    writeFileSync(path.join(monitor, 'metrics.jsonl'), lines);
  });

  it('diagnoses a run by the metrics that the rules ask for', async () => {
    const { status, body } = await bench.api(`runs/${run}/diagnosis`);
    expect(status).toBe(200);
    const { findings, rollouts } = diagnosis.parse(body);
    expect(rollouts).toBe(40);
    expect(findings.map(({ name }) => name)).toEqual(['reward-floor']);
    expect(findings[0]?.numbers).toEqual([
      { role: 'explorer', metric: 'rollout/reward/mean', from: 5951, to: 6000, value: 0 },
    ]);
  });

  it('offers what can be tried without a model', async () => {
    const { body } = await bench.api(`runs/${run}/what-if/choices`);
    const { algorithms, losses, numbers } = whatIfChoices.parse(body);
    expect(numbers).toEqual(['right']);
    expect(algorithms).toEqual(expect.arrayContaining(['grpo', 'rloo']));
    expect(algorithms).not.toContain('ppo');
    for (const loss of losses) {
      const tried = await bench.api(`runs/${run}/what-if?loss=${loss}`);
      expect([loss, tried.status]).toEqual([loss, 200]);
    }
  });

  it('tries rewards on the newest steps', async () => {
    const ask = async (query: string) =>
      whatIf.parse((await bench.api(`runs/${run}/what-if?${query}`)).body);
    const byNumber = await ask('number=right&steps=1');
    expect(byNumber).toMatchObject({ exploreSteps: 1, groupCount: 5 });
    expect(byNumber.before.groupsWithSignal).toBe(0);
    expect(byNumber.after).toMatchObject({ groupsWithSignal: 5, meanReward: 0.5 });
    const byText = await ask('contains=IDEA');
    expect(byText.after).toMatchObject({ groupsWithSignal: 10, meanReward: 0.5 });
    expect(byText.groups[0]?.runs.map(({ run: attempt, after }) => [attempt, after.rank])).toEqual([
      [0, 1],
      [2, 1],
      [1, 3],
      [3, 3],
    ]);
    expect((await ask('lengthCost=0.5')).after.meanReward).toBeLessThan(-1);
  });

  it('says what is wrong with a question', async () => {
    const asked = await bench.api(`runs/${run}/what-if?loss=nothing`);
    expect(asked).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('nothing') },
    });
    expect(await bench.api(`runs/${run}/what-if?number=nonexistent`)).toMatchObject({
      status: 400,
      body: { error: 'The parameter number is "nonexistent"; these rollouts have right.' },
    });
    expect((await bench.api('runs/none/diagnosis')).status).toBe(404);
  });
});
