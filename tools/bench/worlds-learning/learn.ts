/** One world, one seed: demonstrations, warm-up, training, and the evaluation before and after. */
import { mkdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createModel, run, solveTasks } from '../../../packages/launcher/src/index.ts';
import { readCurve } from '../../../packages/monitor/src/index.ts';
import type { Ground } from './grounds.ts';

type Tree = Readonly<Record<string, unknown>>;

/** A mean reward, and the 95 % interval of it. */
export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

export interface Learned {
  readonly before: Interval;
  readonly after: Interval;
  /** Of the training, without warm-up and evaluation. */
  readonly minutes: number;
  readonly weights: string;
}

const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
const adam = { betas: [0.9, 0.95], weight_decay: 0 };

export async function learnWorld(
  root: string,
  name: string,
  ground: Ground,
  seed: number,
): Promise<Learned> {
  const directory = path.join(root, `${name.replaceAll(' ', '-')}-${seed}`);
  await mkdir(directory, { recursive: true });
  const place = { directory, ground, seed };
  const text = await writeDemonstrations(place);
  await createModel({
    directory: path.join(directory, 'model'),
    tokenizer: { characters: [...new Set(text)].join(''), words: ground.words },
    config: ground.model,
    seed,
    initializerRange: 0.05,
  });
  const warm = await stage(place, 'warmup', 'model', warmup(ground));
  const before = await score(place, 'before', warm);
  const start = performance.now();
  const trained = await stage(place, 'train', warm, training(ground));
  const minutes = (performance.now() - start) / 60_000;
  const after = await score(place, 'after', trained);
  return { before, after, minutes, weights: await sizeOf(path.join(directory, 'model')) };
}

interface Place {
  readonly directory: string;
  readonly ground: Ground;
  readonly seed: number;
}

/** Returns all text that a model may read or write. */
async function writeDemonstrations({ directory, ground, seed }: Place): Promise<string> {
  const lines: string[] = [];
  const { environment: name, args, demonstrations: count, systemPrompt } = ground;
  for await (const { messages } of solveTasks({ name, args, count, seed: 1000 + seed })) {
    const shown = messages.map((message) =>
      message.role === 'system' ? { ...message, content: systemPrompt } : message,
    );
    lines.push(JSON.stringify({ messages: shown }));
  }
  await writeFile(path.join(directory, 'solved.jsonl'), `${lines.join('\n')}\n`);
  return lines.flatMap((line) => texts(line)).join('');
}

const texts = (line: string): readonly string[] =>
  (JSON.parse(line) as { messages: { content: string }[] }).messages.map(({ content }) => content);

const warmup = ({ warmupSteps }: Ground): Tree => ({
  mode: 'train',
  algorithm: { algorithm_type: 'sft', optimizer: { lr: 4e-3, lr_warmup_steps: 20, ...adam } },
  buffer: {
    train_batch_size: 64,
    total_steps: warmupSteps,
    trainer_input: {
      experience_buffer: {
        storage_type: 'file',
        path: 'solved.jsonl',
        format: { prompt_type: 'messages', messages_key: 'messages' },
        data_selector: { selector_type: 'shuffle' },
      },
    },
  },
});

const training = ({ algorithm, steps }: Ground): Tree => ({
  mode: 'both',
  algorithm: { ...algorithm, optimizer: { lr: 1e-3, lr_warmup_steps: 5, ...adam } },
  buffer: { batch_size: 32, total_steps: steps },
  synchronizer: { sync_method: 'memory', sync_style: 'fixed', sync_interval: 1 },
});

/** Returns the folder of the last checkpoint. */
async function stage(
  { directory, ground, seed }: Place,
  name: string,
  modelPath: string,
  own: Tree,
): Promise<string> {
  const format = { system_prompt: ground.systemPrompt };
  const { environment, args: environment_args, workflowArgs } = ground;
  const taskset = {
    storage_type: 'generated',
    format,
    workflow_args: { environment, environment_args, ...workflowArgs },
  };
  const input = {
    default_workflow_type: 'environment_workflow',
    taskset: { name: environment, ...taskset, task_count: 2048, task_seed: seed },
    eval_tasksets: [
      { name: 'fresh', ...taskset, task_count: 128, rollout_args: { temperature: 1 } },
    ],
  };
  const { buffer = {}, ...rest } = own;
  const config = {
    project: 'worlds',
    name,
    seed,
    checkpoint_root_dir: 'runs',
    model: {
      model_path: modelPath,
      max_prompt_tokens: ground.promptTokens,
      max_response_tokens: ground.responseTokens,
    },
    buffer: { explorer_input: input, ...(buffer as Tree) },
    explorer: { runner_per_model: 64, eval_interval: 100_000 },
    ...rest,
  };
  const configPath = path.join(directory, `${name}.json`);
  await writeFile(configPath, JSON.stringify(config));
  const { checkpoint } = await run({ configPath, cwd: directory, terminal });
  return checkpoint ?? path.join(directory, 'runs', 'worlds', name);
}

async function score(place: Place, name: string, modelPath: string): Promise<Interval> {
  const folder = await stage(place, name, modelPath, { mode: 'bench' });
  const file = path.join(folder, 'monitor', 'metrics.jsonl');
  const read = async (end: string): Promise<number> => {
    const metric = `bench/fresh/reward/mean@1${end}`;
    const [value = Number.NaN] = await readCurve(file, { role: 'bench', metric });
    return value;
  };
  return { mean: await read(''), low: await read('/ci95_low'), high: await read('/ci95_high') };
}

async function sizeOf(folder: string): Promise<string> {
  const { size } = await stat(path.join(folder, 'model.safetensors'));
  return `${(size / 4e6).toFixed(2)} M`;
}
