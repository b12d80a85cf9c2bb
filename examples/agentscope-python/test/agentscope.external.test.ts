import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { run } from '@trinity-rft/launcher';
import { readCurve } from '@trinity-rft/monitor';
import { findPython } from '@trinity-rft/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepare } from '../src/prepare.ts';

const example = path.join(import.meta.dirname, '..');
const directory = path.join(tmpdir(), `trinity-agentscope-${process.pid}`);
beforeAll(() => void mkdirSync(directory, { recursive: true }));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const packages = readFileSync(path.join(example, 'agent', 'requirements.txt'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));
const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
const steps = 2;

async function train(python: string): Promise<string> {
  await prepare(path.join(directory, 'runs', 'data'), 42);
  process.env['AGENTSCOPE_PYTHON'] = python;
  const summary = await run({
    configPath: path.join(example, 'train.yaml'),
    cwd: directory,
    pluginDirs: [path.join(example, 'plugins')],
    env: { ...process.env, TRAIN_STEPS: String(steps) },
    terminal,
  });
  expect(summary).toMatchObject({ interrupted: false, trainStep: steps });
  return path.join(summary.jobDirectory, 'grpo', 'monitor', 'metrics.jsonl');
}

describe("AgentScope's ReActAgent", { tags: ['external'], timeout: 1_800_000 }, () => {
  it('trains on the calls of its runs, with the reward of its metadata', async ({ skip }) => {
    const python = await findPython(packages);
    if ('missing' in python) return skip(python.missing);
    const metrics = await train(python.program);
    const explored = (metric: string): Promise<readonly number[]> =>
      readCurve(metrics, { role: 'explorer', metric });
    expect(await explored('rollout/runs/ok')).toEqual([32, 32]);
    // The structured answer and the text after it are two calls; the calculator is a third.
    const [calls] = await explored('rollout/model/calls/mean');
    expect(calls).toBeGreaterThan(2);
    const [reward] = await explored('rollout/reward/mean');
    expect(reward).toBeGreaterThan(0.1);
    expect(reward).toBeLessThan(0.9);
    const [difference] = await readCurve(metrics, {
      role: 'trainer',
      metric: 'training/rollout_logprobs_diff_max',
    });
    expect(difference).toBeLessThan(1e-5);
  });
});
