import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { diagnoseRun } from '@trinity-rft/inspect';
import { type RunSummary } from '@trinity-rft/launcher';
import { readCurve } from '@trinity-rft/monitor';
import { learn, LearnConfig } from '@trinity-rft/tuner';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aiSdk, multiply, reactAgentWorkflow } from '../src/agent.ts';
import { prepare } from '../src/prepare.ts';

const steps = 2;

describe('the example of learn, shortened', { tags: ['slow'] }, () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'trinity-learn-react-'));
  const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
  let summary: RunSummary;
  const curve = (role: 'explorer' | 'trainer', metric: string): Promise<readonly number[]> =>
    readCurve(path.join(summary.jobDirectory, 'monitor', 'metrics.jsonl'), { role, metric });

  beforeAll(async () => {
    const modelPath = await prepare({ directory, seed: 7, terminal, env: { WARMUP_STEPS: '160' } });
    const env = { ...process.env, MODEL_PATH: modelPath, TRAIN_STEPS: String(steps) };
    const config = LearnConfig.loadConfig(path.join(import.meta.dirname, '..', 'config.yaml'), {
      cwd: directory,
      env,
    });
    summary = await learn({ workflowFunc: reactAgentWorkflow, config, adapter: aiSdk, terminal });
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it('trains the agent over the turns with its tools', async () => {
    expect(summary).toMatchObject({ interrupted: false, trainStep: steps });
    const calls = await curve('explorer', 'rollout/model/calls/mean');
    expect(calls[0]).toBeGreaterThan(1);
    // Every turn after the first continues the tokens of the one before.
    expect(await curve('explorer', 'rollout/model/spliced/mean')).toEqual(
      calls.map((mean) => mean - 1),
    );
    expect(new Set(await curve('explorer', 'rollout/runs/ok'))).toEqual(new Set([16 * 8]));
    const [difference] = await curve('trainer', 'training/rollout_logprobs_diff_max');
    expect(difference).toBeLessThan(1e-5);
  });

  it('rewards what the tool worked out and the structure holds', async () => {
    const [reward] = await curve('explorer', 'rollout/reward/mean');
    expect(reward).toBeGreaterThan(0.02);
    expect(reward).toBeLessThan(0.6);
  });

  it('gives the doctor nothing to say', async () => {
    const { stages } = await diagnoseRun(summary.jobDirectory);
    expect(stages.flatMap(({ findings }) => findings)).toEqual([]);
  });
});

describe('the calculator', () => {
  it('multiplies, and says that it does nothing else', () => {
    expect(['37*48', '37+48', ''].map(multiply)).toEqual(['1776', 'error', 'error']);
  });
});
