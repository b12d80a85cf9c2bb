/**
 * The small run that fault benchmarks disturb: a tiny model, addition tasks, and a reward for digits.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { createModel } from '../../packages/launcher/src/index.ts';

export interface DigitsRun {
  /** Folder with the model and the tasks, relative to the configuration. */
  readonly data: string;
  readonly totalSteps: number;
  readonly learningRate: number;
  /** Reward of `plugins/digits.ts`. */
  readonly reward: 'digits' | 'slow_digits';
}

/** Configuration sections that all these runs share. */
export const digitsRun = ({ data, totalSteps, learningRate, reward }: DigitsRun) => ({
  plugins: [path.join(import.meta.dirname, 'plugins')],
  checkpoint_root_dir: 'runs',
  seed: 7,
  model: {
    model_path: path.posix.join(data, 'model'),
    max_prompt_tokens: 16,
    max_response_tokens: 4,
    threads: 1,
  },
  algorithm: {
    algorithm_type: 'grpo',
    repeat_times: 4,
    optimizer: { lr: learningRate, weight_decay: 0 },
    kl_loss_fn: 'none',
  },
  buffer: {
    batch_size: 4,
    total_steps: totalSteps,
    explorer_input: {
      tasksets: [
        {
          name: 'sums',
          path: path.posix.join(data, 'tasks.jsonl'),
          format: { prompt_key: 'question', response_key: 'answer' },
          data_selector: { selector_type: 'shuffle' },
        },
      ],
      default_workflow_type: 'simple_workflow',
      default_reward_fn_type: reward,
    },
  },
  synchronizer: { sync_method: 'memory', sync_style: 'fixed', sync_interval: 1 },
  monitor: { monitor_type: [] },
});

/** Writes the model and the tasks that all runs of `root` share. */
export async function writeDigitsData(
  root: string,
  model: Partial<Parameters<typeof createModel>[0]> = {},
): Promise<void> {
  const tokenizer = { characters: '0123456789+= \nabcdefgh' };
  await createModel({ directory: path.join(root, 'model'), tokenizer, seed: 1, ...model });
  const sums = Array.from({ length: 60 }, (_, i) => [Math.floor(i / 10), i % 10] as const);
  const rows = sums.map(([a, b]) => ({ question: `${a}+${b}=`, answer: String((a + b) % 10) }));
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`);
  writeFileSync(path.join(root, 'tasks.jsonl'), lines.join(''));
}
