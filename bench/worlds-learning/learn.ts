/**
 * Trains one world with one seed: demonstrations, warm-up, training, and evaluations before and after.
 */
import { mkdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { chatTemplates } from '../../packages/chat/src/index.ts';
import { createModel, run } from '../../packages/launcher/src/index.ts';
import { solveTasks } from '../../packages/launcher/src/parts.ts';
import { readCurve } from '../../packages/monitor/src/index.ts';
import type { Ground } from './grounds.ts';

type Tree = Readonly<Record<string, unknown>>;

/** A mean reward with its 95 % interval. */
export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

export interface Learned {
  readonly before: Interval;
  readonly after: Interval;
  readonly warmup: Cost;
  readonly training: Cost;
  readonly weights: string;
}

export interface Cost {
  readonly minutes: number;
  /** Processor minutes of all cores. */
  readonly cpuMinutes: number;
}

export interface Place {
  readonly directory: string;
  readonly ground: Ground;
  readonly seed: number;
  /** Writes the progress of a run. */
  readonly write: (text: string) => void;
}

export async function learnWorld(place: Place): Promise<Learned> {
  const { directory, ground, seed } = place;
  await mkdir(directory, { recursive: true });
  const text = await writeDemonstrations(place);
  await createModel({
    directory: path.join(directory, 'model'),
    tokenizer: {
      characters: [...new Set(text + printable)].join(''),
      words: wordsOf(text, ground),
      chatTemplate: ground.chatTemplate ?? chatTemplates.minimal,
    },
    config: ground.model,
    seed,
    initializerRange: 0.05,
  });
  const [{ warm, before }, warmup] = await timed(() => warmUp(place));
  const [trained, training] = await timed(() => stage(place, 'train', warm, trainingOf(ground)));
  const after = await score(place, 'after', trained);
  const weights = await sizeOf(path.join(directory, 'model'));
  return { before, after, warmup, training, weights };
}

/** Runs warm-up rounds, each of which continues from the previous one. */
async function warmUp(place: Place): Promise<{ readonly warm: string; readonly before: Interval }> {
  let warm = 'model';
  for (let round = 1; ; round++) {
    const own = { ...warmupOf(place.ground), seed: 1000 * place.seed + round };
    warm = await stage(place, `warmup-${round}`, warm, own);
    const before = await score(place, `before-${round}`, warm);
    if (before.mean >= place.ground.warmup.until || round === mostRounds) return { warm, before };
  }
}

const mostRounds = 40;

const printable = String.fromCodePoint(10, ...Array.from({ length: 95 }, (_, i) => 32 + i));

/** Writes demonstrations and returns all of their text. */
async function writeDemonstrations({ directory, ground, seed }: Place): Promise<string> {
  const lines: string[] = [];
  const { environment: name, args, systemPrompt, warmup } = ground;
  const tasks = { name, args, count: warmup.demonstrations, seed: 1000 + seed };
  for await (const { messages, tools } of solveTasks(tasks)) {
    const shown = messages.map((message) =>
      message.role === 'system' ? { ...message, content: systemPrompt } : message,
    );
    lines.push(JSON.stringify({ messages: shown, tools }));
  }
  await writeFile(path.join(directory, 'solved.jsonl'), `${lines.join('\n')}\n`);
  return lines.flatMap((line) => textsOf(JSON.parse(line))).join('\n');
}

/** All strings in a value. */
const textsOf = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
};

/** The most frequent words, which become tokens. Other words are spelled in characters. */
function wordsOf(text: string, { words, marks = [] }: Ground): readonly string[] {
  const found = Map.groupBy(text.match(words) ?? [], (word) => word);
  const common = [...found]
    .filter(([word, { length }]) => length >= 5 && word.length > 1)
    .toSorted(([, a], [, b]) => b.length - a.length)
    .slice(0, 800)
    .map(([word]) => word);
  return [...new Set([...marks, ...common])];
}

const adam = { betas: [0.9, 0.95], weight_decay: 0 };

const warmupOf = ({ warmup: { steps, batch, learningRate } }: Ground): Tree => ({
  mode: 'train',
  algorithm: {
    algorithm_type: 'sft',
    optimizer: { lr: learningRate, lr_warmup_steps: 10, ...adam },
  },
  buffer: {
    train_batch_size: batch,
    total_steps: steps,
    trainer_input: {
      experience_buffer: {
        storage_type: 'file',
        path: 'solved.jsonl',
        format: {
          prompt_type: 'messages',
          messages_key: 'messages',
          enable_concatenated_multi_turn: true,
        },
        data_selector: { selector_type: 'shuffle' },
      },
    },
  },
});

const trainingOf = ({ training: { algorithm, steps, batch, learningRate } }: Ground): Tree => ({
  mode: 'both',
  algorithm: { ...algorithm, optimizer: { lr: learningRate, lr_warmup_steps: 5, ...adam } },
  buffer: { batch_size: batch, total_steps: steps },
  synchronizer: { sync_method: 'memory', sync_style: 'fixed', sync_interval: 1 },
});

/** Runs a stage and returns the folder of its last checkpoint. */
async function stage(place: Place, name: string, modelPath: string, own: Tree): Promise<string> {
  const { directory, write } = place;
  const configPath = path.join(directory, `${name}.json`);
  await writeFile(configPath, JSON.stringify(configOf(place, name, modelPath, own), null, 1));
  const terminal = { write, isTTY: false, columns: () => 160 };
  const { checkpoint } = await run({ configPath, cwd: directory, terminal });
  return checkpoint ?? path.join(directory, 'runs', 'worlds', name);
}

function configOf({ ground, seed }: Place, name: string, modelPath: string, own: Tree): Tree {
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
      { name: 'fresh', ...taskset, task_count: 256, rollout_args: { temperature: 1 } },
    ],
  };
  const { buffer = {}, ...rest } = own;
  const tools = { enable_auto_tool_choice: true, tool_call_parser: 'hermes' };
  return {
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
    explorer: {
      runner_per_model: 128,
      eval_interval: 100_000,
      // Turns of a conversation share a prefix, which is trained only once in this shape.
      experience_shape: 'trajectory',
      rollout_model: ground.chatTemplate === undefined ? {} : tools,
    },
    ...rest,
  };
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

async function timed<T>(work: () => Promise<T>): Promise<readonly [T, Cost]> {
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  const result = await work();
  const { user, system } = process.cpuUsage(cpu);
  const minutes = (performance.now() - start) / 60_000;
  return [result, { minutes, cpuMinutes: (user + system) / 60_000_000 }];
}

async function sizeOf(folder: string): Promise<string> {
  const { size } = await stat(path.join(folder, 'model.safetensors'));
  return `${(size / 4e6).toFixed(2)} M`;
}
