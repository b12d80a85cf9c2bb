/** A killed trainer resumes with the same policy, critic and coefficient. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { MetricRecord } from '@trinity-rft/core';
import { fakeEngine, fakeValueEngine, testRuntime } from '@trinity-rft/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { listCheckpoints, writeCheckpoint } from '../src/checkpoint/checkpoint.js';
import { loadTrainer } from '../src/checkpoint/models.js';
import { createTrainer } from '../src/trainer.js';
import { actorCritic, sample, sourceOf } from './support/fixtures.js';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'trainer-resume-'));
});
afterEach(() => rm(root, { recursive: true }));

const batches = Array.from({ length: 8 }, (_, step) => [0, 1, 2].map((run) => sample(run + step)));
const optimizer = { lr: 0.1, lrSchedulerType: 'cosine', lrWarmupSteps: 2 } as const;

/**
 * Acts as a new process: creates the models, loads the newest checkpoint, and makes the remaining
 * steps.
 */
async function process(folder: string, totalSteps: number) {
  const jobDirectory = path.join(root, folder);
  await mkdir(jobDirectory, { recursive: true });
  const [engine, critic] = [fakeEngine({ vocabSize: 8 }), fakeValueEngine({ vocabSize: 8 })];
  const records: MetricRecord[] = [];
  const newest = (await listCheckpoints(jobDirectory)).at(-1);
  const state = newest ? await loadTrainer(newest, { engine: engine.trainer, critic }) : {};
  const from = newest?.manifest.step ?? 0;
  const trainer = createTrainer({
    engine: engine.trainer,
    critic,
    algorithm: actorCritic,
    state,
    source: sourceOf(batches, from),
    trainBatchSize: 3,
    settings: {
      totalSteps,
      saveInterval: 2,
      critic: { optimizer: { ...optimizer, lr: 0.2 }, warmupSteps: 3 },
    },
    optimizer,
    expectedSteps: 8,
    jobDirectory,
    maxReadTimeoutMs: 1000,
    sink: { write: (record) => void records.push(record), close: () => Promise.resolve() },
    runtime: testRuntime(),
    signal: new AbortController().signal,
  });
  await trainer.run(from);
  return { weights: engine.weights(), values: critic.weights(), records };
}

it('a resumed run equals one that was not stopped', async () => {
  const whole = await process('whole', 8);
  const [first, second] = [await process('parts', 5), await process('parts', 8)];
  expect(second.weights).toEqual(whole.weights);
  expect(second.values).toEqual(whole.values);
  expect(
    [...first.records, ...second.records].map(({ metrics }) => metrics['critic/kl_coef']),
  ).toEqual(whole.records.map(({ metrics }) => metrics['critic/kl_coef']));
  // The coefficient differs from step to step, so the test would fail if the resumed run started
  // with the initial one.
  expect(
    new Set(whole.records.map(({ metrics }) => metrics['critic/kl_coef'])).size,
  ).toBeGreaterThan(3);
});

it('a checkpoint has the policy, the critic and the state', async () => {
  await process('whole', 2);
  const [checkpoint] = await listCheckpoints(path.join(root, 'whole'));
  expect(checkpoint!.manifest.files.map((file) => file.path)).toEqual([
    'config.json',
    'critic/config.json',
    'critic/optimizer.bin',
    'critic/weights.bin',
    'optimizer.bin',
    'trainer_state.json',
    'weights.bin',
  ]);
  const state = path.join(checkpoint!.directory, 'trainer_state.json');
  expect(JSON.parse(await readFile(state, 'utf8'))).toEqual({
    klCoefficient: expect.any(Number) as unknown,
  });
  await writeFile(state, '{"klCoefficient": 1}');
  const models = {
    engine: fakeEngine({ vocabSize: 8 }).trainer,
    critic: fakeValueEngine({ vocabSize: 8 }),
  };
  await expect(loadTrainer(checkpoint!, models)).rejects.toThrow(
    'trainer_state.json differs from its digest',
  );
});

it('a checkpoint without a critic is rejected where one is needed', async () => {
  const engine = fakeEngine({ vocabSize: 8 }).trainer;
  const fill = (directory: string) => engine.save(directory, { optimizer: true });
  const checkpoint = await writeCheckpoint(root, { step: 1, final: false, fill });
  expect(await loadTrainer(checkpoint, { engine })).toEqual({});
  await expect(
    loadTrainer(checkpoint, { engine, critic: fakeValueEngine() }),
  ).rejects.toMatchObject({ code: 'CHECKPOINT_WITHOUT_CRITIC' });
});
