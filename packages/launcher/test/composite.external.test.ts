/** A real server trains (SkyRL, TuFT), a real vLLM server samples, and the embedded engine does both beside them. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createTinkerEngine } from '@trinity-rft/tinker';
import { readCurve } from '@trinity-rft/monitor';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createModel } from '../src/create-model.js';
import { run } from '../src/run/run.js';
import { findSkyrl, startSkyrl, type StartedSkyrl } from './support/skyrl.js';
import { halfPrecision } from './support/half-precision.js';
import { findTuft, startTuft, tuftKey, type StartedTuft } from './support/tuft.js';
import { findVllm, startVllm, type StartedVllm, vllmSizes } from './support/vllm.js';

const root = path.join(tmpdir(), `trinity-composite-${process.pid}`);
beforeAll(() => void mkdirSync(root, { recursive: true }));
const at = (...names: readonly string[]): string => path.join(root, ...names);
const adapter = { rank: 4, seed: 3 } as const;
const batch: { tasks: number; runs: number; steps: number } = { tasks: 16, runs: 8, steps: 30 };
let base = '';
let vllmPython = '';
let missing = '';

type Tree = Readonly<Record<string, unknown>>;
const format = { prompt_key: 'question', response_key: 'answer' };

async function runHere(name: string, sections: Tree): Promise<string> {
  const configPath = at(`${name}.yaml`);
  const monitor = { monitor_type: [] };
  writeFileSync(
    configPath,
    JSON.stringify({
      project: 'composite',
      name,
      seed: 42,
      checkpoint_root_dir: at('runs'),
      monitor,
      ...sections,
    }),
  );
  const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
  const { checkpoint = '' } = await run({ configPath, cwd: root, terminal });
  return checkpoint;
}

/** Teaches the model a part of the task before reinforcement learning, as the quickstart does. */
function warmUp(name: string): Promise<string> {
  return runHere(`warmup-${name}`, {
    mode: 'train',
    model: { model_path: at(name) },
    algorithm: { algorithm_type: 'sft', optimizer: { lr: 6e-3, weight_decay: 0 } },
    buffer: {
      train_batch_size: 64,
      total_steps: 90,
      trainer_input: {
        experience_buffer: {
          name: 'worked',
          storage_type: 'file',
          path: at('sft.jsonl'),
          format: { prompt_type: 'plaintext', ...format },
          data_selector: { selector_type: 'shuffle' },
        },
      },
    },
  });
}

function learn(
  name: string,
  { model, ...sections }: Tree & { readonly model: Tree },
  { steps = batch.steps, lr = 1e-3 } = {},
): Promise<string> {
  return runHere(name, {
    model: { model_path: base, max_prompt_tokens: 16, max_response_tokens: 6, ...model },
    algorithm: {
      algorithm_type: 'grpo',
      repeat_times: batch.runs,
      optimizer: { lr, betas: [0.9, 0.95], weight_decay: 0 },
      kl_loss_fn: 'none',
      rollout_correction: { bypass_mode: false, rollout_is: 'token' },
    },
    buffer: {
      batch_size: batch.tasks,
      total_steps: steps,
      explorer_input: {
        taskset: { path: at('tasks.jsonl'), format, data_selector: { selector_type: 'shuffle' } },
        default_workflow_type: 'simple_workflow',
        default_reward_fn_type: 'exact_match_reward',
      },
    },
    synchronizer: { sync_method: 'memory', sync_style: 'fixed', sync_interval: 1 },
    ...sections,
  });
}

/** Metrics of every step. */
async function curves(name: string) {
  const file = at('runs', 'composite', name, 'monitor', 'metrics.jsonl');
  const explorer = (metric: string) => readCurve(file, { role: 'explorer', metric });
  const trainer = (metric: string) => readCurve(file, { role: 'trainer', metric });
  return {
    rewards: await explorer('rollout/reward/mean'),
    differences: await trainer('training/rollout_logprobs_diff_max'),
    means: await trainer('training/rollout_logprobs_diff_mean'),
    shares: await trainer('training/rollout_ess'),
    weights: await trainer('rollout_corr/rollout_is_mean'),
  };
}

/** Prints figures that are also of interest if the test passes. */
const report = (text: string): void => void process.stdout.write(`${text}\n`);

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

beforeAll(async () => {
  const found = await findVllm();
  if ('missing' in found) {
    ({ missing } = found);
    return;
  }
  vllmPython = found.python;
  base = await trainableModel('base', 42);
}, 2_400_000);
afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));

/** Creates a model that has learned some of the sums. */
async function trainableModel(name: string, seed: number): Promise<string> {
  await createModel({
    directory: at(name),
    tokenizer: { characters: '0123456789+=\n' },
    initializerRange: 0.2,
    seed,
    config: vllmSizes,
  });
  const sums = Array.from({ length: 400 }, (_, i) => [Math.floor(i / 20), i % 20] as const);
  const rows = sums.map(([a, b]) => ({ question: `${a}+${b}=`, answer: String(a + b) }));
  const lines = (all: readonly object[]): string =>
    all.map((row) => `${JSON.stringify(row)}\n`).join('');
  writeFileSync(at('tasks.jsonl'), lines(rows));
  writeFileSync(at('sft.jsonl'), lines(rows));
  return warmUp(name);
}

const sampleOn = (modelPath: string, dtype: 'float32' | 'bfloat16'): Promise<StartedVllm> =>
  startVllm({
    ...{ python: vllmPython, modelPath, dtype, maxModelLen: 64, folder: root },
    ...{ tokenizer: false, lora: adapter },
  });

describe('SkyRL trains and vLLM samples', { tags: ['external'], timeout: 1_800_000 }, () => {
  let skyrl: StartedSkyrl | undefined;
  let vllm: StartedVllm | undefined;
  let lacking = '';
  beforeAll(async () => {
    const found = await findSkyrl();
    if ('missing' in found) lacking = found.missing;
    if ('missing' in found || missing !== '') return;
    mkdirSync(at('skyrl'));
    skyrl = await startSkyrl({ ...found, modelPath: base, directory: at('skyrl') });
    vllm = await sampleOn(base, 'float32');
  }, 2_400_000);
  afterAll(() => Promise.all([skyrl?.stop(), vllm?.stop()]));

  it('learns as the embedded engine does from the same adapter', async ({ skip }) => {
    skip(missing + lacking !== '', missing || lacking);
    const start = await createTinkerEngine({
      modelPath: base,
      baseUrl: skyrl?.url,
      ...adapter,
      trainUnembed: false,
    });
    await start.trainer.save(at('start'), { optimizer: false, merged: false });
    await start.close();
    await learn('apart', {
      model: { tinker: { base_url: skyrl?.url, ...adapter } },
      trainer: { trainer_type: 'tinker', grad_clip: 0 },
      explorer: { rollout_model: { engine_type: 'vllm', base_url: vllm?.url, dtype: 'float32' } },
    });
    await learn('embedded', {
      model: { lora_configs: [{ path: at('start', 'lora_adapter') }] },
      trainer: { grad_clip: 0 },
    });
    const [apart, embedded] = [await curves('apart'), await curves('embedded')];
    for (const [name, { rewards }] of Object.entries({ apart, embedded }))
      report(`${name}: rewards ${rewards.map((value) => value.toFixed(2)).join(' ')}`);
    report(`log-probabilities differ by at most ${Math.max(...apart.differences)}`);
    for (const { rewards } of [apart, embedded])
      expect(mean(rewards.slice(-10))).toBeGreaterThan(mean(rewards.slice(0, 5)) + 0.05);
    const ends = [apart, embedded].map(({ rewards }) => mean(rewards.slice(-10)));
    expect(Math.abs(ends[0]! - ends[1]!)).toBeLessThan(0.1);
    // Published weights are proved by then; these are the texts that were sampled with them.
    expect(apart.differences).toHaveLength(batch.steps);
    expect(Math.max(...apart.differences)).toBeLessThan(1e-4);
    expect(apart.weights).toHaveLength(batch.steps);
    for (const weight of apart.weights) expect(weight).toBeCloseTo(1, 4);
  });
});

describe(
  'TuFT trains a bfloat16 model, which vLLM samples',
  { tags: ['external'], timeout: 1_800_000 },
  () => {
    let tuft: StartedTuft | undefined;
    let vllm: StartedVllm | undefined;
    let half = '';
    let lacking = '';
    beforeAll(async () => {
      const found = await findTuft();
      if ('missing' in found) lacking = found.missing;
      if ('missing' in found || missing !== '') return;
      process.env['TINKER_API_KEY'] = tuftKey;
      half = halfPrecision(base, at('half'));
      mkdirSync(at('tuft'));
      tuft = await startTuft({ ...found, models: { half }, directory: at('tuft') });
      vllm = await sampleOn(half, 'bfloat16');
    }, 2_400_000);
    afterAll(async () => {
      delete process.env['TINKER_API_KEY'];
      await Promise.all([tuft?.stop(), vllm?.stop()]);
    });
    beforeEach(({ skip }) => skip(missing + lacking !== '', missing || lacking));

    /** Sections of a run with both servers. */
    const onBoth = (url = vllm?.url, more: Tree = {}) => ({
      model: {
        ...{ model_path: half, max_prompt_tokens: 16, max_response_tokens: 6 },
        tinker: { base_url: tuft?.url, base_model: 'half', ...adapter },
      },
      trainer: { trainer_type: 'tinker' },
      explorer: { rollout_model: { engine_type: 'vllm', base_url: url, dtype: 'bfloat16' } },
      ...more,
    });

    it('raises the reward, with the log-probabilities of one model on both sides', async () => {
      // Its adapters have an alpha of twice their rank, those of SkyRL 32.
      await learn('half', onBoth(), { lr: 1e-2 });
      const { rewards, means, shares } = await curves('half');
      report(`rewards ${rewards.map((value) => value.toFixed(2)).join(' ')}`);
      report(`mean differences ${means.map((value) => value.toFixed(4)).join(' ')}`);
      expect(mean(rewards.slice(-10))).toBeGreaterThan(mean(rewards.slice(0, 5)) + 0.05);
      expect(Math.max(...means)).toBeLessThan(0.03);
      expect(Math.min(...shares)).toBeGreaterThan(0.99);
    });

    it('refuses no healthy run, whatever its prompts and lengths', async () => {
      for (let i = 0; i < 20; i++) {
        const name = `healthy-${i}`;
        const lengths = { max_prompt_tokens: 16, max_response_tokens: 1 + 2 * i };
        const sections = onBoth();
        await learn(
          name,
          { ...sections, seed: i, model: { ...sections.model, ...lengths } },
          { steps: 2 },
        );
        const { means, shares } = await curves(name);
        expect(Math.max(...means)).toBeLessThan(0.03);
        expect(Math.min(...shares)).toBeGreaterThan(0.99);
      }
    });

    it('refuses another model behind vLLM before a step is trained', async () => {
      const other = await sampleOn(
        halfPrecision(await trainableModel('other', 7), at('other-half')),
        'bfloat16',
      );
      try {
        await expect(learn('mistaken', onBoth(other.url))).rejects.toMatchObject({
          message: expect.stringMatching(
            /scores a text differently from the trainer, by [\d.]+ nats/,
          ),
        });
        expect(existsSync(at('runs', 'composite', 'mistaken', 'monitor', 'metrics.jsonl'))).toBe(
          false,
        );
      } finally {
        await other.stop();
      }
    });
  },
);
