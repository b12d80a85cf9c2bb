/** Engines that a program adds: chosen by their name in YAML. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { EngineFactory, EngineOptions } from '@trinity-rft/core/engine';
import { onnxEngine } from '@trinity-rft/engine-onnx';
import { fakeEngine, fakeValueEngine } from '@trinity-rft/testing';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { RunOptions } from '../src/run/run.js';
import { bigramRuns, type BigramRuns } from './support/bigram-runs.js';

let runs: BigramRuns;
beforeAll(async () => {
  runs = await bigramRuns(4);
});
afterAll(() => runs.remove());

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

const runWith = (
  name: string,
  changes: Readonly<Record<string, unknown>>,
  options: Partial<RunOptions> = {},
) => runs.runWith(name, changes, { engines: [bigrams], ...options });

it('a second engine explores and trains where a configuration names it', async () => {
  const { trainStep, checkpoint = '' } = await runWith('grpo', {});
  expect(trainStep).toBe(2);
  expect(opened).toMatchObject([
    { modelPath: path.join(runs.root, 'model'), reference: true, maxModelLen: 20 },
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
