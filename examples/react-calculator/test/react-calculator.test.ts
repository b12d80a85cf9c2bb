import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadModelFolder } from '@trinity-rft/engine-onnx';
import { diagnoseRun } from '@trinity-rft/inspect';
import { run, type RunSummary } from '@trinity-rft/launcher';
import { readCurve } from '@trinity-rft/monitor';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { prepare } from '../src/prepare.ts';

const example = path.join(import.meta.dirname, '..');
const warmupSteps = 160;
const grpoSteps = 5;
const runsPerStep = 16 * 8;

/** Text of the example's configuration with fewer steps. */
function shortened(): string {
  const config = parseDocument(readFileSync(path.join(example, 'react-calculator.yaml'), 'utf8'));
  config.setIn(['stages', 0, 'buffer', 'total_steps'], warmupSteps);
  config.setIn(['stages', 1, 'trainer', 'total_steps'], grpoSteps);
  return String(config);
}

describe('several-explorers.yaml', () => {
  it('is the second stage of the example', () => {
    const read = (file: string) => parseDocument(readFileSync(path.join(example, file), 'utf8'));
    const [apart, whole] = [read('several-explorers.yaml'), read('react-calculator.yaml')];
    const stage = (key: string): unknown => whole.getIn(['stages', 1, key]);
    for (const key of ['algorithm', 'trainer'])
      expect([key, String(apart.get(key))]).toEqual([key, String(stage(key))]);
    expect(String(apart.get('buffer'))).toBe(String(whole.get('buffer')));
    expect(apart.getIn(['model', 'model_path'])).toBe(
      `runs/Trinity-RFT/react-calculator/warmup/global_step_${Number(whole.getIn(['stages', 0, 'buffer', 'total_steps']))}`,
    );
  });
});

describe('the example, shortened', { tags: ['slow'] }, () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'trinity-react-calculator-'));
  const printed: string[] = [];
  let summary: RunSummary;
  const curve = (
    stage: string,
    role: 'explorer' | 'trainer',
    metric: string,
  ): Promise<readonly number[]> =>
    readCurve(path.join(summary.jobDirectory, stage, 'monitor', 'metrics.jsonl'), { role, metric });

  beforeAll(async () => {
    await prepare(path.join(folder, 'runs', 'data'), 7);
    writeFileSync(path.join(folder, 'short.yaml'), shortened());
    summary = await run({
      configPath: 'short.yaml',
      pluginDirs: [path.join(example, 'plugins')],
      cwd: folder,
      terminal: { write: (text) => void printed.push(text), isTTY: false, columns: () => 80 },
    });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('makes every step of both stages', async () => {
    expect(summary).toMatchObject({ interrupted: false, doneBefore: false, trainStep: grpoSteps });
    expect(await curve('warmup', 'trainer', 'actor/final_loss')).toHaveLength(warmupSteps);
    expect(await curve('grpo', 'trainer', 'actor/final_loss')).toHaveLength(grpoSteps);
    expect(printed.join('')).toMatch(/eval after step 0 \(policy version 0\): fresh 0\.\d{3}/);
  });

  it('learns from demonstrations to call the tool now and then, and to repeat its result', async () => {
    const losses = await curve('warmup', 'trainer', 'actor/final_loss');
    expect(losses.at(-1)).toBeLessThan(0.6 * losses[0]!);
    const [calls] = await curve('grpo', 'explorer', 'rollout/tool_calls/mean');
    const [reward] = await curve('grpo', 'explorer', 'rollout/reward/mean');
    expect(calls).toBeGreaterThan(0.02);
    expect(calls).toBeLessThan(0.6);
    expect(reward).toBeGreaterThan(0.02);
    expect(reward).toBeLessThanOrEqual(calls!);
  });

  it('records every call of every run, and continues the tokens of the first turn exactly', async () => {
    const experiences = await curve('grpo', 'explorer', 'experience_pipeline/experience_count');
    const callsPerRun = await curve('grpo', 'explorer', 'rollout/model/calls/mean');
    expect(experiences.length).toBeGreaterThanOrEqual(grpoSteps);
    expect(experiences).toEqual(callsPerRun.map((calls) => calls * runsPerStep));
    expect(await curve('grpo', 'explorer', 'rollout/model/spliced/mean')).toEqual(
      callsPerRun.map((calls) => calls - 1),
    );
    expect(new Set(await curve('grpo', 'explorer', 'rollout/runs/ok'))).toEqual(
      new Set([runsPerStep]),
    );
    // The first batch was sampled with the weights that train on it, so every token of both turns
    // has the same probability in training.
    const [difference] = await curve('grpo', 'trainer', 'training/rollout_logprobs_diff_max');
    expect(difference).toBeLessThan(1e-5);
  });

  it('leaves a model that can be loaded, other than the one it began with', async () => {
    const weights = async (folderOfModel: string): Promise<Float32Array> =>
      (await loadModelFolder(folderOfModel)).weights;
    const [before, after] = [
      await weights(path.join(folder, 'runs', 'data', 'model')),
      await weights(summary.checkpoint!),
    ];
    expect(after).toHaveLength(before.length);
    expect(after.every(Number.isFinite)).toBe(true);
    expect(after).not.toEqual(before);
  });

  it('gives the doctor nothing to say', async () => {
    const { stages } = await diagnoseRun(summary.jobDirectory);
    expect(stages.flatMap(({ findings }) => findings)).toEqual([]);
  });
});
