/** The task of the quickstart, and a model that was trained on partly wrong answers. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Random, createRandom } from '@trinity-rft/core';
import { createModel } from '../../src/create-model.js';
import { run } from '../../src/run/run.js';

interface Problem {
  readonly question: string;
  readonly answer: string;
}

/**
 * Returns all sums of two numbers below 100, shuffled. The least significant digit of an answer
 * comes first.
 */
function problems(random: Random): readonly Problem[] {
  const two = (value: number): string => String(value).padStart(2, '0');
  const all = Array.from({ length: 10_000 }, (_, i) => {
    const [a, b] = [Math.floor(i / 100), i % 100];
    const digits = String(a + b).padStart(3, '0');
    return { question: `${two(a)}+${two(b)}=`, answer: digits.split('').toReversed().join('') };
  });
  return random.shuffle(all);
}

/** Replaces a digit of the answer by a random digit, with probability 0.65. */
const withSlip = ({ question, answer }: Problem, random: Random): Problem => {
  const [at, digit] = [random.integer(3), random.integer(10)];
  const wrong = answer.slice(0, at) + String(digit) + answer.slice(at + 1);
  return { question, answer: random.next() < 0.65 ? wrong : answer };
};

const keys = { prompt_key: 'question', response_key: 'answer' };
export const lengths = { max_prompt_tokens: 16, max_response_tokens: 6 } as const;

export interface AdditionRun {
  readonly root: string;
  readonly name: string;
  readonly changes: Readonly<Record<string, unknown>>;
}

/** Writes the configuration of a training run. @returns the path of the configuration */
export function writeRun({ root, name, changes }: AdditionRun): string {
  const file = path.join(root, `${name}.yaml`);
  const own = { project: 'test', name, checkpoint_root_dir: 'runs', seed: 42 };
  writeFileSync(file, JSON.stringify({ ...own, ...changes }));
  return file;
}

export function runAddition(options: AdditionRun): ReturnType<typeof run> {
  const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
  return run({ configPath: writeRun(options), cwd: options.root, terminal });
}

/** Configuration of the tasks for reinforcement learning. */
export const additionTasks = {
  taskset: {
    name: 'addition',
    path: 'tasks.jsonl',
    format: keys,
    data_selector: { selector_type: 'shuffle' },
  },
  default_workflow_type: 'simple_workflow',
  default_reward_fn_type: 'exact_match_reward',
} as const;

/**
 * Writes the tasks into `root`, and trains a model on partly wrong answers for a few seconds.
 * @param config sizes of the model
 * @default the sizes of `createModel`
 * @returns folder of the model
 */
export async function taughtModel(
  root: string,
  config?: Parameters<typeof createModel>[0]['config'],
): Promise<string> {
  const random = createRandom(42);
  const all = problems(random);
  const write = (file: string, rows: readonly Problem[]): void =>
    writeFileSync(path.join(root, file), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  write('tasks.jsonl', all);
  write(
    'sft.jsonl',
    all.map((problem) => withSlip(problem, random)),
  );
  await createModel({
    directory: path.join(root, 'model'),
    tokenizer: { characters: '0123456789+=\n' },
    initializerRange: 0.2,
    seed: 42,
    ...(config && { config }),
  });
  const experience_buffer = {
    name: 'answers',
    storage_type: 'file',
    path: 'sft.jsonl',
    format: { prompt_type: 'plaintext', ...keys },
    data_selector: { selector_type: 'shuffle' },
  };
  const optimizer = { lr: 6e-3, lr_warmup_steps: 30, betas: [0.9, 0.95], weight_decay: 0 };
  const { checkpoint } = await runAddition({
    root,
    name: 'taught',
    changes: {
      mode: 'train',
      model: { model_path: 'model', ...lengths },
      algorithm: { algorithm_type: 'sft', optimizer },
      buffer: { train_batch_size: 128, total_steps: 300, trainer_input: { experience_buffer } },
    },
  });
  if (checkpoint === undefined) throw new Error('Nothing was trained.');
  return checkpoint;
}
