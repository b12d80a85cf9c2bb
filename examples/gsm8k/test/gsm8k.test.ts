import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadTokenizer } from '@trinity-rft/chat';
import { loadModelFolder } from '@trinity-rft/engine-onnx';
import { run, type RunOptions, type RunSummary } from '@trinity-rft/launcher';
import { readCurve } from '@trinity-rft/monitor';
import { defineReward } from '@trinity-rft/workflow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { prepare } from '../src/prepare.ts';

const example = path.join(import.meta.dirname, '..');
const dataFiles = ['train', 'test'].map((split) => path.join(example, 'data', `${split}.jsonl`));
const folder = mkdtempSync(path.join(tmpdir(), 'trinity-gsm8k-'));
const model = path.join(folder, 'model');
const steps = 3;
const runsPerStep = 4 * 4;

beforeAll(() => prepare(model, dataFiles, 7));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the example's configuration under another name, with the changes of a test. */
function runExample(
  name: string,
  changes: Readonly<Record<string, unknown>>,
  rewardFns: RunOptions['rewardFns'] = [],
): Promise<RunSummary> {
  const config = parseDocument(readFileSync(path.join(example, 'gsm8k.yaml'), 'utf8'));
  config.set('name', name);
  for (const [key, value] of Object.entries(changes)) config.setIn(key.split('.'), value);
  writeFileSync(path.join(folder, `${name}.yaml`), String(config));
  return run({
    configPath: `${name}.yaml`,
    rewardFns,
    cwd: folder,
    env: {
      ...process.env,
      TRINITY_CHECKPOINT_ROOT_DIR: 'runs',
      TRINITY_MODEL_PATH: model,
      TRINITY_TASKSET_PATH: path.join(example, 'data'),
    },
    terminal: { write: () => undefined, isTTY: false, columns: () => 80 },
  });
}

const curve = (
  { jobDirectory }: RunSummary,
  role: 'explorer' | 'trainer',
  metric: string,
): Promise<readonly number[]> =>
  readCurve(path.join(jobDirectory, 'monitor', 'metrics.jsonl'), { role, metric });

describe('the small model', () => {
  it('reads every task without an unknown token', async () => {
    const tokenizer = await loadTokenizer(model);
    const questions = dataFiles
      .flatMap((file) => readFileSync(file, 'utf8').trim().split('\n'))
      .map((line) => (JSON.parse(line) as { question: string }).question);
    expect(questions).toHaveLength(96);
    expect(
      questions.filter((question) => tokenizer.decode(tokenizer.encode(question)) !== question),
    ).toEqual([]);
  });
});

describe('the example', { tags: ['slow'] }, () => {
  it('makes its steps on the real tasks and evaluates before and after', async () => {
    const summary = await runExample('as-it-is', {});
    expect(summary).toMatchObject({ interrupted: false, trainStep: steps });
    expect(await curve(summary, 'explorer', 'experience_pipeline/experience_count')).toEqual(
      Array(steps).fill(runsPerStep),
    );
    expect(await curve(summary, 'explorer', 'rollout/runs/ok')).toEqual(
      Array(steps).fill(runsPerStep),
    );
    expect(await curve(summary, 'explorer', 'eval/gsm8k_test/finished_task_count')).toEqual([
      32, 32,
    ]);
    // A random model only gives wrong answers in the wrong format, whose reward is -0.1.
    for (const reward of await curve(summary, 'explorer', 'eval/gsm8k_test/reward/mean@1'))
      expect(reward).toBeCloseTo(-0.1);
    expect(
      Math.max(...(await curve(summary, 'trainer', 'training/rollout_logprobs_diff_max'))),
    ).toBeLessThan(1e-5);
  });

  it('moves away from the reference model when a reward tells runs apart, and leaves a model that can be loaded', async () => {
    const letters = defineReward({
      name: 'letters',
      score: ({ response }) => response.replaceAll(/[^a-z]/gi, '').length / 100,
    });
    const summary = await runExample(
      'letters',
      { 'buffer.explorer_input.default_reward_fn_type': 'letters', 'algorithm.optimizer.lr': 1e-3 },
      [letters],
    );
    expect(Math.min(...(await curve(summary, 'trainer', 'actor/grad_norm')))).toBeGreaterThan(0);
    const [first, ...later] = await curve(summary, 'trainer', 'actor/kl_loss');
    expect(first).toBeLessThan(1e-9);
    expect(later).toHaveLength(steps - 1);
    expect(Math.min(...later)).toBeGreaterThan(1e-9);
    const [before, after] = [
      (await loadModelFolder(model)).weights,
      (await loadModelFolder(summary.checkpoint!)).weights,
    ];
    expect(after).toHaveLength(before.length);
    expect(after.every(Number.isFinite)).toBe(true);
    expect(after).not.toEqual(before);
  });
});
