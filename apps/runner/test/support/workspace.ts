/** Folder with a tiny model, addition tasks, and configurations for runs of one to three seconds. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  buildCharTokenizer,
  chatTemplates,
  createTokenizer,
  writeTokenizerFiles,
} from '@trinity-rft/chat';
import { createModelFolder } from '@trinity-rft/engine-onnx';
import { afterFile } from '@trinity-rft/test-support';
import { plugins } from './agents.js';

export interface Workspace {
  /** Absolute path of the folder. */
  readonly root: string;
  /** Writes a file below the root, with its folder, and returns its path. */
  write(file: string, text: string): string;
  read(file: string): string;
  /**
   * Writes a configuration: {@link baseConfig} with the parts of `over` merged into it. JSON is YAML. Returns its path.
   */
  config(file: string, ...over: readonly Tree[]): string;
}

export type Tree = { readonly [key: string]: unknown };

/**
 * Creates a temporary folder with model, plugins and tasks. It is removed after the tests of the
 * file.
 */
export async function createWorkspace(): Promise<Workspace> {
  const root = mkdtempSync(path.join(tmpdir(), 'trinity-run-'));
  afterFile(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));
  const at = (file: string): string => path.resolve(root, file);
  const write = (file: string, text: string): string => {
    mkdirSync(path.dirname(at(file)), { recursive: true });
    writeFileSync(at(file), text);
    return at(file);
  };
  await createModel(at('model'));
  for (const [file, text] of Object.entries(plugins)) write(file, text);
  write('tasks.jsonl', sums(0, 10).map(jsonLine).join(''));
  write('eval.jsonl', sums(10, 2).map(jsonLine).join(''));
  return {
    root,
    write,
    read: (file) => readFileSync(at(file), 'utf8'),
    config: (file, ...over) =>
      write(file, `${JSON.stringify([baseConfig, ...over].reduce(merge), null, 2)}\n`),
  };
}

/** Creates a model with ten thousand weights, whose tokenizer has digits, letters and the markers of tool calls. */
async function createModel(directory: string): Promise<void> {
  const files = buildCharTokenizer({
    characters: '0123456789+= \nabcdefghijklmnopqrstuvwxyz{}":,.',
    markers: ['<tool_call>', '</tool_call>'],
    eosToken: '<|im_end|>',
    chatTemplate: chatTemplates.minimal,
  });
  const { vocabularySize, eosTokenIds } = createTokenizer(files);
  await createModelFolder({
    directory,
    seed: 1,
    config: {
      vocabSize: vocabularySize,
      hiddenSize: 32,
      layers: 1,
      heads: 2,
      kvHeads: 1,
      headDim: 16,
      maxPositions: 64,
      eosTokenIds,
    },
  });
  await writeTokenizerFiles(directory, files);
}

export interface Sum {
  readonly question: string;
  readonly answer: string;
}

/** Addition tasks such as `7+5=` with the answer `2`, the last digit. */
function sums(first: number, count: number): readonly Sum[] {
  return Array.from(
    { length: count * 10 },
    (_, i) => [Math.floor(i / 10) + first, i % 10] as const,
  ).map(([a, b]) => ({
    question: `${a}+${b}=`,
    answer: String((a + b) % 10),
  }));
}

const jsonLine = (value: unknown): string => `${JSON.stringify(value)}\n`;

const format = { prompt_key: 'question', response_key: 'answer' };

/** One stage of GRPO: six explore steps of four tasks with four rollouts each. */
export const baseConfig: Tree = {
  project: 'tests',
  name: 'run',
  checkpoint_root_dir: 'runs',
  seed: 7,
  mode: 'both',
  model: { model_path: 'model', max_prompt_tokens: 40, max_response_tokens: 4, threads: 1 },
  algorithm: {
    algorithm_type: 'grpo',
    repeat_times: 4,
    optimizer: { lr: 1e-2, weight_decay: 0 },
    kl_loss_fn: 'none',
  },
  buffer: {
    batch_size: 4,
    total_steps: 6,
    explorer_input: {
      tasksets: [
        { name: 'sums', path: 'tasks.jsonl', format, data_selector: { selector_type: 'shuffle' } },
      ],
      default_workflow_type: 'simple_workflow',
      default_reward_fn_type: 'digits',
    },
  },
  explorer: { max_retry_times: 0, eval_on_startup: false, eval_interval: 0 },
  synchronizer: { sync_method: 'memory', sync_style: 'fixed', sync_interval: 1 },
  monitor: { monitor_type: [] },
};

/** Evaluation tasks, to merge into the base configuration. */
export const evalTasksets: Tree = {
  buffer: {
    explorer_input: {
      eval_tasksets: [
        { name: 'fresh', path: 'eval.jsonl', format, rollout_args: { temperature: 0 } },
      ],
    },
  },
};

/** Stages: supervised warm-up, then GRPO. */
export const twoStages: Tree = {
  stages: [
    {
      stage_name: 'warmup',
      mode: 'train',
      algorithm: { algorithm_type: 'sft' },
      buffer: {
        train_batch_size: 8,
        total_steps: 8,
        trainer_input: {
          experience_buffer: {
            name: 'worked',
            storage_type: 'file',
            path: 'tasks.jsonl',
            format: { ...format, prompt_type: 'plaintext' },
            data_selector: { selector_type: 'shuffle' },
          },
        },
      },
      trainer: { save_interval: 3 },
    },
    { stage_name: 'grpo', mode: 'both', algorithm: { algorithm_type: 'grpo' } },
  ],
};

/** PPO settings with a critic, and a KL penalty whose coefficient adapts with every step. */
export const actorCritic: Tree = {
  algorithm_type: 'ppo',
  kl_penalty_fn: 'k3',
  kl_penalty_fn_args: { kl_coef: 0.2, adaptive: true, target_kl: 0.01, horizon: 100 },
};

function merge(base: Tree, over: Tree): Tree {
  const merged = Object.entries(over).map(([key, value]) => [
    key,
    isTree(base[key]) && isTree(value) ? merge(base[key], value) : value,
  ]);
  return { ...base, ...(Object.fromEntries(merged) as Tree) };
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
