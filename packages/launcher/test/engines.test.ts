/** Engines that a program adds: chosen by their name in YAML. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { EngineFactory, EngineOptions } from '@trinity-rft/core';
import { onnxEngine } from '@trinity-rft/engine-onnx';
import { fakeEngine, fakeValueEngine } from '@trinity-rft/testing';
import { defineReward } from '@trinity-rft/workflow';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createModel } from '../src/create-model.js';
import { run, type RunOptions } from '../src/run/run.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-engines-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

beforeAll(async () => {
  const tokenizer = { characters: '0123456789+=\n' };
  await createModel({ directory: path.join(root, 'model'), tokenizer, seed: 1 });
  const row = JSON.stringify({ question: '1+2=', answer: '3' });
  writeFileSync(path.join(root, 'tasks.jsonl'), `${row}\n`.repeat(4));
});

const opened: Omit<EngineOptions, 'tokenBytes'>[] = [];
beforeEach(() => void opened.splice(0));

/** A table of bigrams: the model folder only has to have a tokenizer. */
const bigrams: EngineFactory = {
  name: 'bigrams',
  capabilities: fakeEngine().capabilities,
  open: async ({ tokenBytes = [], ...options }) => {
    opened.push(options);
    return fakeEngine({ vocabSize: tokenBytes.length, maxModelLen: options.maxModelLen });
  },
  openCritic: async () => fakeValueEngine({ vocabSize: 64 }),
};

const anyDigit = defineReward({
  name: 'any_digit',
  score: ({ response }) => (/\d/.test(response) ? 1 : 0),
});

const runWith = (
  name: string,
  changes: Readonly<Record<string, unknown>>,
  options: Partial<RunOptions> = {},
) => {
  const config = {
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
    ...changes,
  };
  const configPath = path.join(root, `${name}.yaml`);
  writeFileSync(configPath, JSON.stringify(config));
  const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
  return run({
    configPath,
    cwd: root,
    rewardFns: [anyDigit],
    engines: [bigrams],
    terminal,
    ...options,
  });
};

it('a second engine explores and trains where a configuration names it', async () => {
  const { trainStep, checkpoint = '' } = await runWith('grpo', {});
  expect(trainStep).toBe(2);
  expect(opened).toMatchObject([
    { modelPath: path.join(root, 'model'), reference: true, maxModelLen: 20 },
  ]);
  const saved = JSON.parse(readFileSync(path.join(checkpoint, 'config.json'), 'utf8'));
  expect(saved).toMatchObject({ model_type: 'fake_bigram' });
});

it('so does its critic', async () => {
  const ppo = { algorithm: { algorithm_type: 'ppo', repeat_times: 4 } };
  expect((await runWith('ppo', ppo)).trainStep).toBe(2);
});

it('what it cannot do is reported before it is opened', async () => {
  const poor: EngineFactory = {
    ...bigrams,
    capabilities: { ...bigrams.capabilities, referenceModel: false },
  };
  await expect(runWith('poor', {}, { engines: [poor] })).rejects.toThrow(
    /grpo compares the policy with a frozen reference, and the engine "bigrams" keeps none/,
  );
  expect(opened).toEqual([]);
});

it('a name that no engine has, or that two have, is an error', async () => {
  const other = { trainer: { trainer_type: 'trigrams' } };
  await expect(runWith('other', other)).rejects.toThrow(/trainer_type.*bigrams/s);
  const twice = { engines: [{ ...bigrams, name: onnxEngine.name }] };
  await expect(runWith('twice', {}, twice)).rejects.toThrow(
    'There are two engines with the name "onnx".',
  );
});
