/** A folder with a tiny model and a run of sixty train steps, and what its processes are. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createModel } from '../../../packages/launcher/src/index.ts';

export const project = 'kills';

/** Enough that several disturbances fall into one run. */
const totalSteps = 60;

const configOf = (name: string, storeUrl: string | undefined) => ({
  project,
  name,
  checkpoint_root_dir: 'runs',
  seed: 7,
  model: { model_path: 'model', max_prompt_tokens: 16, max_response_tokens: 4, threads: 1 },
  algorithm: {
    algorithm_type: 'grpo',
    repeat_times: 4,
    optimizer: { lr: 1e-3, weight_decay: 0 },
    kl_loss_fn: 'none',
  },
  buffer: {
    batch_size: 4,
    total_steps: totalSteps,
    explorer_input: {
      tasksets: [
        {
          name: 'sums',
          path: 'tasks.jsonl',
          format: { prompt_key: 'question', response_key: 'answer' },
          data_selector: { selector_type: 'shuffle' },
        },
      ],
      default_workflow_type: 'simple_workflow',
      default_reward_fn_type: 'digits',
    },
    trainer_input: {
      experience_buffer: {
        name: 'experiences',
        storage_type: 'queue',
        ...(storeUrl === undefined ? {} : { path: storeUrl }),
      },
    },
  },
  explorer: { eval_on_startup: false },
  trainer: { save_interval: 5 },
  synchronizer: { sync_method: 'memory', sync_style: 'fixed', sync_interval: 1 },
  monitor: { monitor_type: [] },
});

/** An untrained model gets a share of it, so that groups differ and weights move. */
const reward = `import { defineReward } from '@trinity-rft/workflow';
export const digits = defineReward({
  name: 'digits',
  score: ({ response }) => [...response].filter((c) => c >= '0' && c <= '9').length / 4,
});
`;

/** Model, tasks and plugin, which all runs below `root` share. */
export async function prepare(root: string): Promise<void> {
  const tokenizer = { characters: '0123456789+= \nabcdefgh' };
  await createModel({ directory: path.join(root, 'model'), tokenizer, seed: 1 });
  const sums = Array.from({ length: 60 }, (_, i) => [Math.floor(i / 10), i % 10] as const);
  const rows = sums.map(([a, b]) => ({ question: `${a}+${b}=`, answer: String((a + b) % 10) }));
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`);
  writeFileSync(path.join(root, 'tasks.jsonl'), lines.join(''));
  mkdirSync(path.join(root, 'plugins'));
  writeFileSync(path.join(root, 'plugins/digits.ts'), reward);
}

export interface RunPlace {
  readonly root: string;
  readonly name: string;
  /** Of a PostgreSQL database. Undefined: `run.db` in the folder of the run. */
  readonly storeUrl: string | undefined;
}

/** Where the run keeps its files. */
export const jobOf = ({ root, name }: RunPlace): string => path.join(root, 'runs', project, name);

/** @returns the configuration's path */
export function writeConfig({ root, name, storeUrl }: RunPlace): string {
  const file = path.join(root, `${name}.yaml`);
  writeFileSync(file, JSON.stringify(configOf(name, storeUrl)));
  return file;
}

export const roles = ['trainer', 'e1', 'e2'] as const;
export type Role = (typeof roles)[number];

export const argsOf = (role: Role): readonly string[] =>
  role === 'trainer' ? ['--mode', 'train'] : ['--mode', 'explore', '--explorer-name', role];
