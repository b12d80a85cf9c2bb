import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { UserMsg } from '@agentscope-ai/agentscope/message';
import { diagnoseRun } from '@trinity-rft/inspect';
import { type RunSummary } from '@trinity-rft/launcher';
import { readCurve } from '@trinity-rft/monitor';
import { DatasetConfig } from '@trinity-rft/tuner';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { judgeFunction } from '../src/agent.ts';
import { prepare } from '../src/prepare.ts';
import { trainAgent } from '../src/train.ts';

const steps = 3;

describe('the tutorial of the tuner, shortened', { tags: ['slow'] }, () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'trinity-math-agent-'));
  const printed: string[] = [];
  const terminal = {
    write: (text: string) => void printed.push(text),
    isTTY: false,
    columns: () => 80,
  };
  let summary: RunSummary;
  const curve = (role: 'explorer' | 'trainer', metric: string): Promise<readonly number[]> =>
    readCurve(path.join(summary.jobDirectory, 'monitor', 'metrics.jsonl'), { role, metric });

  beforeAll(async () => {
    const modelPath = await prepare({ directory, seed: 7, terminal, env: { WARMUP_STEPS: '80' } });
    summary = await trainAgent({ modelPath, totalSteps: steps, cwd: directory, terminal });
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it('shows the rows of its data set', async () => {
    const shown: string[] = [];
    const rows = await DatasetConfig({ path: path.join(directory, 'my_dataset') }).preview(2, {
      write: (text) => shown.push(text),
    });
    expect(rows).toHaveLength(2);
    expect(JSON.parse(shown.join(''))).toEqual(rows);
    expect(rows[0]).toEqual({
      question: expect.stringMatching(/^What is \d+ \+ \d+\?$/) as string,
      answer: expect.stringMatching(/^\d+$/) as string,
    });
  });

  it('gives the doctor nothing to say', async () => {
    const { stages } = await diagnoseRun(summary.jobDirectory);
    expect(stages.flatMap(({ findings }) => findings)).toEqual([]);
  });

  it('trains the agent, whose calls go through AgentScope and HTTP', async () => {
    expect(summary).toMatchObject({ interrupted: false, trainStep: steps });
    const rewards = await curve('explorer', 'rollout/reward/mean');
    expect(rewards).toHaveLength(steps);
    expect(Math.max(...rewards)).toBeGreaterThan(0.02);
    expect(await curve('explorer', 'rollout/runs/ok')).toEqual(
      Array.from({ length: steps }, () => 32 * 8),
    );
    const [difference] = await curve('trainer', 'training/rollout_logprobs_diff_max');
    expect(difference).toBeLessThan(1e-5);
    expect(printed.join('')).toMatch(
      /eval after step 0 \(policy version 0\): eval_taskset 0\.\d{3}/,
    );
  });

  it('leaves the folders of the tutorial', () => {
    expect(path.relative(directory, path.dirname(summary.jobDirectory))).toBe(
      path.join('checkpoints', 'AgentScope'),
    );
    expect(path.basename(summary.jobDirectory)).toMatch(/^Experiment-\d{14}$/);
    expect(readdirSync(summary.jobDirectory)).toEqual(
      expect.arrayContaining(['monitor', `global_step_${steps}`]),
    );
    expect(readdirSync(path.join(summary.jobDirectory, 'monitor'))).toContain('tensorboard');
  });
});

describe('the judge', () => {
  it.each([
    ['22', 1],
    [' 22\n', 1],
    ['122', 0],
    ['', 0],
  ])('gives %j the reward %d', async (content, reward) => {
    const input = {
      task: { question: 'What is 7 + 15?', answer: '22' },
      response: UserMsg({ name: 'agent', content }),
      auxiliaryModels: {},
    };
    expect(await judgeFunction(input as never)).toMatchObject({ reward });
  });
});
