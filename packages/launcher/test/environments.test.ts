/** Environments that a configuration names, and the tasks that they generate. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { EngineFactory } from '@trinity-rft/core';
import { defineEnvironment, nativeEnvironment } from '@trinity-rft/environment';
import { fakeEngine } from '@trinity-rft/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createModel } from '../src/create-model.js';
import { run } from '../src/run/run.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-environments-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

beforeAll(async () => {
  const tokenizer = { characters: '0123456789+=\n' };
  await createModel({ directory: path.join(root, 'model'), tokenizer, seed: 1 });
});

const bigrams: EngineFactory = {
  name: 'bigrams',
  capabilities: fakeEngine().capabilities,
  open: async ({ tokenBytes = [], maxModelLen }) =>
    fakeEngine({ vocabSize: tokenBytes.length, maxModelLen }),
};

const seeds: number[][] = [];
let isClosed = false;

/** Ends at once; breaks in every third episode. */
const dice = defineEnvironment({
  name: 'dice',
  description: 'Guess.',
  tasks: ({ split, count }) => Array.from({ length: count }, (_, row) => ({ row, split })),
  open: () => {
    let episodes = 0;
    return nativeEnvironment(
      ({ row, seed }) => {
        seeds.push([Number(row['row']), seed]);
        const breaks = ++episodes % 3 === 0;
        const step = () => {
          if (breaks) throw new Error('the dice fell off the table');
          return { observation: '', reward: 1, done: true };
        };
        return { observation: '1+1=', step };
      },
      () => void (isClosed = true),
    );
  },
});

const runWith = (taskset: Readonly<Record<string, unknown>>) => {
  const config = {
    name: 'dice',
    checkpoint_root_dir: 'runs',
    model: { model_path: 'model', max_prompt_tokens: 16, max_response_tokens: 4 },
    algorithm: { algorithm_type: 'grpo', repeat_times: 4 },
    explorer: { max_retry_times: 0 },
    buffer: {
      batch_size: 2,
      explorer_input: {
        default_workflow_type: 'environment_workflow',
        taskset: { storage_type: 'generated', ...taskset },
      },
    },
    trainer: { trainer_type: 'bigrams' },
  };
  const configPath = path.join(root, 'dice.yaml');
  writeFileSync(configPath, JSON.stringify(config));
  const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
  return run({ configPath, cwd: root, engines: [bigrams], environments: [dice], terminal });
};

it('trains on generated tasks; all runs of a task begin alike; a broken environment is no reward', async () => {
  const workflow_args = { environment: 'dice' };
  await expect(runWith({ workflow_args, task_count: 4 })).resolves.toMatchObject({ trainStep: 2 });
  expect(Map.groupBy(seeds, ([row]) => row).size).toBe(4);
  expect(new Set(seeds.map(String)).size).toBe(4);
  expect(seeds).toHaveLength(16);
  expect(isClosed).toBe(true);
});

it.each([
  [
    { workflow_args: { environment: 'dyce' } },
    /task_count: is missing[^]*"dyce".*Did you mean "dice"/,
  ],
  [
    { workflow_args: { environment: 'dice' }, task_count: 4, split: 'test' },
    /split: got "test", expected train or eval/,
  ],
  [
    { task_count: 4, default_workflow_type: 'math_workflow' },
    /"generated", but math_workflow generates no tasks/,
  ],
])('refuses %o before it starts', async (taskset, message) => {
  await expect(runWith(taskset)).rejects.toThrow(message);
});
