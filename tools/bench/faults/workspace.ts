/** A folder with a tiny model and a run of six train steps that takes about a second. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createModel, run, type RunSummary } from '../../../packages/launcher/src/index.ts';
import { defineReward } from '../../../packages/workflow/src/index.ts';

/** Steps after which the run is complete; checkpoints are written after every second one. */
export const totalSteps = 6;

const config = {
  project: 'faults',
  name: 'run',
  checkpoint_root_dir: 'runs',
  seed: 7,
  mode: 'both',
  model: { model_path: '../model', max_prompt_tokens: 16, max_response_tokens: 4, threads: 1 },
  algorithm: {
    algorithm_type: 'grpo',
    repeat_times: 4,
    optimizer: { lr: 1e-2, weight_decay: 0 },
    kl_loss_fn: 'none',
  },
  buffer: {
    batch_size: 4,
    total_steps: totalSteps,
    explorer_input: {
      tasksets: [
        {
          name: 'sums',
          path: '../tasks.jsonl',
          format: { prompt_key: 'question', response_key: 'answer' },
          data_selector: { selector_type: 'shuffle' },
        },
      ],
      default_workflow_type: 'simple_workflow',
      default_reward_fn_type: 'digits',
    },
  },
  explorer: { max_retry_times: 0, eval_on_startup: false },
  trainer: { save_interval: 2 },
  synchronizer: { sync_method: 'memory', sync_style: 'fixed', sync_interval: 1 },
  monitor: { monitor_type: [] },
};

/** An untrained model gets a share of it, so that groups differ and weights move. */
const digits = defineReward({
  name: 'digits',
  score: ({ response }) => [...response].filter((c) => c >= '0' && c <= '9').length / 4,
});

/** Model and tasks, which all runs of `root` share. */
export async function prepare(root: string): Promise<void> {
  const tokenizer = { characters: '0123456789+= \nabcdefgh' };
  await createModel({ directory: path.join(root, 'model'), tokenizer, seed: 1 });
  const sums = Array.from({ length: 60 }, (_, i) => [Math.floor(i / 10), i % 10] as const);
  const rows = sums.map(([a, b]) => ({ question: `${a}+${b}=`, answer: String((a + b) % 10) }));
  writeFileSync(
    path.join(root, 'tasks.jsonl'),
    rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
  );
}

export interface Ended {
  readonly summary: RunSummary | undefined;
  readonly error: unknown;
  readonly output: string;
}

/** Where a run in `folder` keeps its files. */
export const jobOf = (folder: string): string => path.join(folder, 'runs/faults/run');

/** Runs, or resumes, in `folder`. `onOutput` sees everything that was printed so far. */
export async function train(
  folder: string,
  onOutput: (output: string) => void = () => undefined,
  signal?: AbortSignal,
): Promise<Ended> {
  mkdirSync(folder, { recursive: true });
  const configPath = path.join(folder, 'run.yaml');
  writeFileSync(configPath, JSON.stringify(config));
  let output = '';
  const write = (text: string): void => {
    output += text;
    onOutput(output);
  };
  const terminal = { write, isTTY: false, columns: () => 80 };
  try {
    const rewardFns = [digits];
    const summary = await run({ configPath, cwd: folder, env: {}, rewardFns, terminal, signal });
    return { summary, error: undefined, output };
  } catch (error) {
    return { summary: undefined, error, output };
  }
}
