/**
 * Training runs whose model is a table of bigrams, which learns in milliseconds. Only the tokenizer
 * and the vocabulary size of the model folder are used.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadTokenizer, type Tokenizer } from '@trinity-rft/chat';
import { defineReward } from '@trinity-rft/workflow';
import { createModel } from '../../src/create-model.js';
import { run, type RunOptions } from '../../src/run/run.js';

type Keys = Readonly<Record<string, unknown>>;

export interface BigramRuns {
  /** Folder with the model folder `model` and the training runs. */
  readonly root: string;
  readonly tokenizer: Tokenizer;
  /** Vocabulary size of the model, at least that of the tokenizer. */
  readonly vocabSize: number;
  /**
   * Executes a training run.
   * @param changes sections that replace sections of the configuration
   */
  runWith(name: string, changes?: Keys, options?: Partial<RunOptions>): ReturnType<typeof run>;
  remove(): void;
}

/**
 * Creates the model folder and the tasks.
 * @param tasks number of tasks; a batch has two
 */
export async function bigramRuns(tasks: number): Promise<BigramRuns> {
  const root = mkdtempSync(path.join(tmpdir(), 'trinity-bigrams-'));
  const directory = path.join(root, 'model');
  await createModel({ directory, tokenizer: { characters: '0123456789+=\n' }, seed: 1 });
  const row = JSON.stringify({ question: '1+2=', answer: '3' });
  writeFileSync(path.join(root, 'tasks.jsonl'), `${row}\n`.repeat(tasks));
  const tokenizer = await loadTokenizer(directory);
  return {
    root,
    tokenizer,
    vocabSize: tokenizer.vocabularySize,
    runWith: (name, changes = {}, options = {}) => {
      const configPath = path.join(root, `${name}.yaml`);
      writeFileSync(configPath, JSON.stringify({ ...configOf(name), ...changes }));
      const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
      return run({ configPath, cwd: root, rewardFns: [anyDigit], terminal, ...options });
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

const anyDigit = defineReward({
  name: 'any_digit',
  score: ({ response }) => (/\d/.test(response) ? 1 : 0),
});

const configOf = (name: string): Keys => ({
  name,
  checkpoint_root_dir: 'runs',
  model: { model_path: 'model', max_prompt_tokens: 16, max_response_tokens: 4 },
  algorithm: { algorithm_type: 'grpo', repeat_times: 4 },
  buffer: {
    batch_size: 2,
    explorer_input: {
      taskset: {
        path: 'tasks.jsonl',
        format: { prompt_key: 'question', response_key: 'answer' },
      },
      default_workflow_type: 'simple_workflow',
      default_reward_fn_type: 'any_digit',
    },
  },
  trainer: { trainer_type: 'bigrams' },
});
