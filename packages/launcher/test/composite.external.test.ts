/** A real SkyRL server trains, a real vLLM server samples, and the embedded engine does both beside them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createTinkerEngine } from '@trinity-rft/tinker';
import { readCurve } from '@trinity-rft/monitor';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createModel } from '../src/create-model.js';
import { run } from '../src/run/run.js';
import { findSkyrl, startSkyrl, type StartedSkyrl } from './support/skyrl.js';
import { findVllm, startVllm, type StartedVllm, vllmSizes } from './support/vllm.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-composite-'));
const at = (...names: readonly string[]): string => path.join(root, ...names);
const adapter = { rank: 4, seed: 3 } as const;
const batch = { tasks: 16, runs: 8, steps: 30 } as const;
let skyrl: StartedSkyrl | undefined;
let vllm: StartedVllm | undefined;
let base = '';
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

/** As the quickstart: what is to be learned by reward is known in part. */
function warmUp(): Promise<string> {
  return runHere('warmup', {
    mode: 'train',
    model: { model_path: at('model') },
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
): Promise<string> {
  return runHere(name, {
    model: { model_path: base, max_prompt_tokens: 16, max_response_tokens: 6, ...model },
    algorithm: {
      algorithm_type: 'grpo',
      repeat_times: batch.runs,
      optimizer: { lr: 1e-3, betas: [0.9, 0.95], weight_decay: 0 },
      kl_loss_fn: 'none',
      rollout_correction: { bypass_mode: false, rollout_is: 'token' },
    },
    buffer: {
      batch_size: batch.tasks,
      total_steps: batch.steps,
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

/** Curves of every step. */
async function curves(name: string) {
  const file = at('runs', 'composite', name, 'monitor', 'metrics.jsonl');
  const explorer = (metric: string) => readCurve(file, { role: 'explorer', metric });
  const trainer = (metric: string) => readCurve(file, { role: 'trainer', metric });
  return {
    rewards: await explorer('rollout/reward/mean'),
    differences: await trainer('training/rollout_logprobs_diff_max'),
    weights: await trainer('rollout_corr/rollout_is_mean'),
  };
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

beforeAll(async () => {
  const found = [await findSkyrl(), await findVllm()] as const;
  for (const one of found) if ('missing' in one) missing = one.missing;
  const [foundSkyrl, foundVllm] = found;
  if ('missing' in foundSkyrl || 'missing' in foundVllm) return;
  await createModel({
    directory: at('model'),
    tokenizer: { characters: '0123456789+=\n' },
    initializerRange: 0.2,
    seed: 42,
    config: vllmSizes,
  });
  const sums = Array.from({ length: 400 }, (_, i) => [Math.floor(i / 20), i % 20] as const);
  const rows = sums.map(([a, b]) => ({ question: `${a}+${b}=`, answer: String(a + b) }));
  const lines = (all: readonly object[]): string =>
    all.map((row) => `${JSON.stringify(row)}\n`).join('');
  writeFileSync(at('tasks.jsonl'), lines(rows));
  writeFileSync(at('sft.jsonl'), lines(rows));
  base = await warmUp();
  mkdirSync(at('skyrl'));
  const shared = { modelPath: base, directory: at('skyrl') };
  skyrl = await startSkyrl({ ...foundSkyrl, ...shared });
  const start = { modelPath: base, maxModelLen: 64, folder: root, tokenizer: false };
  vllm = await startVllm({ ...foundVllm, ...start, lora: adapter });
}, 2_400_000);

afterAll(async () => {
  await Promise.all([skyrl?.stop(), vllm?.stop()]);
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});

describe('SkyRL trains and vLLM samples', { tags: ['external'], timeout: 1_800_000 }, () => {
  it('learns as the embedded engine does from the same adapter', async ({ skip, annotate }) => {
    skip(missing !== '', missing);
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
      await annotate(`${name}: rewards ${rewards.map((value) => value.toFixed(2)).join(' ')}`);
    await annotate(`log-probabilities differ by at most ${Math.max(...apart.differences)}`);
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
