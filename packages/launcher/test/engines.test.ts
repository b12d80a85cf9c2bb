/** Engines that a program adds: chosen by their name in YAML. */
import { hash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { EngineError } from '@trinity-rft/core';
import {
  serverRestartedKey,
  type EngineFactory,
  type EngineOptions,
} from '@trinity-rft/core/engine';
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

/** A table of bigrams, whose model folder only needs a tokenizer. */
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

/** The trainer of the first `times` engines fails at its second step, as one whose server was restarted. */
function restartedEngine(times: number): EngineFactory {
  let left = times;
  return {
    ...bigrams,
    open: async (options) => {
      const engine = await bigrams.open(options);
      const fails = left-- > 0;
      let steps = 0;
      const step: typeof engine.trainer.step = (given) => {
        if (!fails || ++steps < 2) return engine.trainer.step(given);
        throw new EngineError('The server was restarted.', {
          code: 'ENGINE_WORKER_DIED',
          details: { [serverRestartedKey]: true },
        });
      };
      return { ...engine, trainer: { ...engine.trainer, step } };
    },
  };
}

const saving = { trainer: { trainer_type: 'bigrams', save_interval: 1 } };
const weightsIn = (folder = ''): readonly [string, string] => {
  const names = readdirSync(folder).filter((name) => !/manifest|config/.test(name));
  return [names.join(), names.map((name) => hashOf(path.join(folder, name))).join()];
};
const hashOf = (file: string): string =>
  statSync(file).isFile() ? hash('sha256', readFileSync(file)) : '';

it('is opened again after its server was restarted, and ends with the same weights', async () => {
  const whole = await runWith('whole', saving);
  opened.splice(0);
  const { trainStep, checkpoint } = await runWith('restarted', saving, {
    engines: [restartedEngine(1)],
  });
  expect([trainStep, opened.length]).toEqual([2, 2]);
  expect(weightsIn(checkpoint)).toEqual(weightsIn(whole.checkpoint));
});

it('ends the run where its server is restarted again and again', async () => {
  const engines = [restartedEngine(Infinity)];
  await expect(runWith('again', {}, { engines })).rejects.toThrow('The server was restarted.');
  expect(opened).toHaveLength(4);
});
