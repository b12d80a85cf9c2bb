import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { rules } from '../../src/diagnosis/index.js';
import { afterAll, describe, expect, it } from 'vitest';
import { diagnoseRun, renderDiagnosis } from '../../src/index.js';
import { sickRuns } from './sick-runs.js';
import { writeRun, type WrittenRun } from './written-run.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-sick-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function diagnosed(name: string, run: WrittenRun) {
  const folder = path.join(root, name);
  await writeRun(folder, run);
  return diagnoseRun(folder);
}

describe('diagnoseRun', () => {
  it('has a sick run for each rule, and each rule at most once', () => {
    const names = rules.map(({ name }) => name);
    expect(Object.keys(sickRuns).toSorted()).toEqual(names.toSorted());
    expect(new Set(names).size).toBe(names.length);
    const known = new Set(names);
    expect(
      rules.flatMap(({ explains = [] }) => explains).filter((name) => !known.has(name)),
    ).toEqual([]);
  });

  it('blames a healthy run for nothing', async () => {
    const { stages } = await diagnosed('healthy', {});
    expect(stages.map(({ findings }) => findings)).toEqual([[]]);
    expect(stages[0]).toMatchObject({ exploreSteps: 12, trainSteps: 12, rollouts: 64 });
  });

  it.each(Object.entries(sickRuns))('names %s, and nothing else', async (name, run) => {
    const diagnosis = await diagnosed(name, run);
    const [stage] = diagnosis.stages;
    expect(stage?.findings.map((finding) => finding.name)).toEqual([name]);
    const [finding] = stage?.findings ?? [];
    expect(finding?.text).toMatch(/\d|EngineError/);
    expect(renderDiagnosis(diagnosis)).toContain(finding?.advice);
  });

  it('says when a reward fell that never rose, and that answers were whole before', async () => {
    const { stages } = await diagnosed('fallen', {
      explorer: (step) => ({
        'rollout/reward/mean': step < 3 ? 0.3 / step : 0,
        'rollout/reward/max': 1,
        'rollout/reward/min': 0,
        'rollout/model/response_truncated/mean': step < 4 ? 0 : 8,
        'rollout/model/choices/mean': 8,
      }),
    });
    const findings = stages[0]?.findings ?? [];
    expect(findings.map(({ name, text }) => [name, text])).toEqual([
      [
        'reward-collapse',
        'The mean reward was 0.15 at step 3 and is 0 now, with half of the fall by step 4.',
      ],
      [
        'truncated-answers',
        '100 % of the answers of explore steps 8 to 12 reached the limit, and 0.0 % of those of the first steps.',
      ],
    ]);
  });
});
