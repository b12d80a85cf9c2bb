/**
 * GRPO of small models on the quickstart's additions. Compares whole processes, `trinity run` and TRL's
 * GRPOTrainer, from the same warmed-up model with the same tasks, batch and learning rate.
 */
import { existsSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { prepare as writeProblems } from '../../../examples/quickstart/src/prepare.ts';
import { createModel, run } from '../../../packages/launcher/src/index.ts';
import { readCurve } from '../../../packages/monitor/src/index.ts';
import { pythonScript, trinity } from '../programs.ts';
import type { Place, Row, Side } from '../row.ts';

interface Size {
  readonly name: string;
  /** @default the quickstart's configuration */
  readonly config?: Parameters<typeof createModel>[0]['config'];
  readonly initializerRange: number;
  readonly steps: number;
  readonly learningRate: number;
  readonly warmup: { readonly steps: number; readonly learningRate: number };
}

interface Sync {
  readonly name: string;
  readonly synchronizer: Readonly<Record<string, unknown>>;
}

const shape = { heads: 4, kvHeads: 2, maxPositions: 64 };
const sizes: readonly Size[] = [
  {
    name: '0.1M',
    initializerRange: 0.2,
    steps: 120,
    learningRate: 1.5e-3,
    warmup: { steps: 400, learningRate: 6e-3 },
  },
  {
    name: '0.8M',
    config: { ...shape, hiddenSize: 128, layers: 4, headDim: 32 },
    initializerRange: 0.1,
    steps: 60,
    learningRate: 7e-4,
    warmup: { steps: 200, learningRate: 3e-3 },
  },
  {
    name: '6M',
    config: { ...shape, hiddenSize: 256, layers: 8, headDim: 64 },
    initializerRange: 0.05,
    steps: 30,
    learningRate: 3e-4,
    warmup: { steps: 150, learningRate: 1e-3 },
  },
];
const seed = 42;
const [tasks, runsOfTask, responseTokens, warmupSteps] = [64, 8, 6, 20];
const project = 'peers';
const keys = { prompt_key: 'question', response_key: 'answer' };
const silent = { write: () => undefined, isTTY: false, columns: () => 80 };

/** Sync settings with which each step is trained on before the next one is sampled. */
const onPolicy: Sync = {
  name: 'trinity',
  synchronizer: { sync_method: 'memory', sync_style: 'fixed', sync_interval: 1 },
};
/** Sync settings with which each step is sampled while the previous one is trained on. */
const overlapped: Sync = {
  name: 'fully_async',
  synchronizer: { sync_method: 'memory', sync_style: 'fully_async', max_staleness: 1 },
};

export const grpoRows: readonly Row[] = sizes.map((size) => ({
  name: `grpo-${size.name}`,
  job: jobOf(size),
  note: 'both sides follow the same learning rates: those of TRL by itself would be a step later',
  learns: true,
  prepare: async (place) => {
    const warm = await warmedUp(size, place.cache);
    return { ours: await ours(size, onPolicy, warm, place), peers: trl(size, warm, place) };
  },
}));

/** Rows that measure the gain of sampling during training with a staleness of one step. */
export const overlapRows: readonly Row[] = sizes.map((size) => ({
  name: `overlap-${size.name}`,
  job: `${jobOf(size)}, staleness 1 beside none`,
  prepare: async (place) => {
    const warm = await warmedUp(size, place.cache);
    return {
      ours: await ours(size, overlapped, warm, place),
      peers: [await ours(size, onPolicy, warm, place)],
    };
  },
}));

function jobOf({ name, steps }: Size): string {
  return `GRPO ${steps} steps, ${tasks} × ${runsOfTask}, ${name} weights`;
}

async function ours(
  size: Size,
  sync: Sync,
  warm: string,
  { folder, repeats }: Place,
): Promise<Side> {
  const nameOf = (repeat: number): string => `${sync.name}-${repeat}`;
  const config = (repeat: number): string => path.join(folder, `${nameOf(repeat)}.json`);
  for (let repeat = 0; repeat < repeats; repeat++) {
    const { synchronizer } = sync;
    const run = reinforcement(size, warm, { ...common(nameOf(repeat), folder), synchronizer });
    await writeFile(config(repeat), JSON.stringify({ ...run, seed: seed + repeat }));
  }
  return {
    name: sync.name,
    command: (repeat) => trinity('run', config(repeat)),
    read: async (_, repeat) => {
      const file = path.join(folder, 'runs', project, nameOf(repeat), 'monitor/metrics.jsonl');
      const rewards = await readCurve(file, { role: 'explorer', metric: 'rollout/reward/mean' });
      const parts = { 'first reward': mean(rewards.slice(0, 5)), reward: mean(rewards.slice(-5)) };
      return { parts };
    },
  };
}

function trl(size: Size, warm: string, { folder, python }: Place): readonly Side[] {
  const script = pythonScript(python, 'trl_grpo.py');
  if (!script) return [];
  const { steps, learningRate } = size;
  const job = { warm, steps, learningRate, warmupSteps, responseTokens, tasks, runsOfTask };
  const command = (repeat: number): readonly string[] => {
    const output = path.join(folder, `trl-${repeat}`);
    return script(JSON.stringify({ ...job, output, seed: seed + repeat }));
  };
  return [{ name: 'TRL', command }];
}

/** Folder with `model/` and `data/tasks.jsonl`, created once. */
async function warmedUp({ name, warmup, ...size }: Size, cache: string): Promise<string> {
  const folder = path.join(cache, `warm-${name}`);
  if (existsSync(path.join(folder, 'model'))) return folder;
  await rm(folder, { recursive: true, force: true });
  await writeProblems(path.join(folder, 'data'), seed);
  const { config, initializerRange } = size;
  const directory = path.join(folder, 'start');
  const tokenizer = { characters: '0123456789+=\n' };
  await createModel({ directory, tokenizer, config, initializerRange, seed });
  const configPath = path.join(folder, 'warmup.json');
  await writeFile(configPath, JSON.stringify(supervised(warmup, folder)));
  const { checkpoint } = await run({ configPath, cwd: folder, terminal: silent });
  if (checkpoint === undefined) throw new Error(`${configPath} ended without a checkpoint`);
  await rename(checkpoint, path.join(folder, 'model'));
  return folder;
}

const common = (name: string, folder: string) => ({
  project,
  name,
  checkpoint_root_dir: path.join(folder, 'runs'),
});
const modelAt = (model_path: string) => ({
  model_path,
  max_prompt_tokens: 16,
  max_response_tokens: responseTokens,
});
const adam = (lr: number, lr_warmup_steps: number) => ({
  lr,
  lr_warmup_steps,
  betas: [0.9, 0.95],
  weight_decay: 0,
});
const tasksFrom = (file: string) => ({ path: file, data_selector: { selector_type: 'shuffle' } });

const supervised = ({ steps, learningRate }: Size['warmup'], folder: string) => ({
  ...common('warmup', folder),
  model: modelAt(path.join(folder, 'start')),
  mode: 'train',
  seed,
  algorithm: { algorithm_type: 'sft', optimizer: adam(learningRate, 30) },
  buffer: {
    train_batch_size: 128,
    total_steps: steps,
    trainer_input: {
      experience_buffer: {
        name: 'worked_examples',
        storage_type: 'file',
        format: { prompt_type: 'plaintext', ...keys },
        ...tasksFrom(path.join(folder, 'data/sft.jsonl')),
      },
    },
  },
});

const reinforcement = ({ steps, learningRate }: Size, warm: string, base: object) => ({
  ...base,
  model: modelAt(path.join(warm, 'model')),
  mode: 'both',
  algorithm: {
    algorithm_type: 'grpo',
    repeat_times: runsOfTask,
    optimizer: adam(learningRate, warmupSteps),
    kl_loss_fn: 'none',
  },
  buffer: {
    batch_size: tasks,
    total_steps: steps,
    explorer_input: {
      taskset: {
        name: 'addition',
        format: keys,
        ...tasksFrom(path.join(warm, 'data/tasks.jsonl')),
      },
      default_workflow_type: 'simple_workflow',
      default_reward_fn_type: 'exact_match_reward',
    },
  },
  explorer: { runner_per_model: tasks },
});

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
