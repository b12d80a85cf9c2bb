/** Tests the critic in its real thread, for faults that only a thread can cause. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { CheckpointError } from '@trinity-rft/core';
import type { ValueEngine } from '@trinity-rft/core/engine';
import { recordingLogger } from '@trinity-rft/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { createOnnxCritic } from './critic.js';
import { createOnnxEngine } from './engine.js';
import { createModelFolder } from './storage/new-model.js';

const root = mkdtempSync(join(tmpdir(), 'critic-thread-'));
const modelPath = join(root, 'model');
beforeAll(() =>
  createModelFolder({
    directory: modelPath,
    seed: 3,
    initializerRange: 0.15,
    config: { vocabSize: 32, hiddenSize: 32, layers: 2, heads: 4 },
  }),
);
afterAll(() => rmSync(root, { recursive: true, force: true }));

const opened: { close(): Promise<void> }[] = [];
afterEach(() => Promise.all(opened.splice(0).map((one) => one.close())));

async function open(directory = modelPath): Promise<ValueEngine> {
  const critic = await createOnnxCritic({ modelPath: directory, threads: 1 });
  opened.push(critic);
  return critic;
}

const rows = Array.from({ length: 6 }, (_, i) => ({
  tokens: Int32Array.from({ length: 14 + i }, (_, t) => (i * t) % 32),
  promptLength: 2,
  temperature: 1,
}));

/** Trains the values towards the index of each row. Returns the mean squared error of each step. */
async function fit(critic: ValueEngine, steps: number): Promise<number[]> {
  const errors: number[] = [];
  for (let step = 0; step < steps; step++) {
    const pass = await critic.forward({ rows });
    const differences = pass.values.map(
      (value, at) => value - pass.offsets.findLastIndex((offset) => offset <= at),
    );
    errors.push(differences.reduce((sum, x) => sum + x * x, 0) / differences.length);
    await critic.backward(
      pass,
      differences.map((x) => (2 * x) / differences.length),
    );
    await critic.step({ learningRate: 0.02 });
  }
  return errors;
}

describe('the critic in its thread', () => {
  it.each([{ threads: -3 }, { memoryBudgetBytes: Number.NaN }])(
    'refuses an option that is not a count: %o',
    async (option) => {
      await expect(createOnnxCritic({ modelPath, ...option })).rejects.toMatchObject({
        code: 'ENGINE_OPTION',
      });
    },
  );

  it('begins at 0 on a language model and learns from its targets', async () => {
    const critic = await open();
    expect((await critic.forward({ rows })).values.every((value) => value === 0)).toBe(true);
    const errors = await fit(critic, 40);
    expect(errors.at(-1)!).toBeLessThan(errors[0]! / 20);
    expect(await critic.stats()).toMatchObject({
      'perf/forward_micro_batches': 41,
      'perf/backward_micro_batches': 40,
    });
  });

  it('continues from a checkpoint as if never interrupted, in a thread that opens it as its model too', async () => {
    const directory = join(root, 'checkpoint');
    const critic = await open();
    await fit(critic, 3);
    await critic.save(directory, { optimizer: true });
    const expected = await fit(critic, 3);
    const resumed = await open(directory);
    await resumed.load(directory);
    expect(await fit(resumed, 3)).toEqual(expected);
    expect((await resumed.forward({ rows })).values).toEqual(
      (await critic.forward({ rows })).values,
    );
  });

  it('keeps the arrays of its callers', async () => {
    const critic = await open();
    const pass = await critic.forward({ rows });
    const gradients = pass.values.map(() => 1);
    await critic.backward(pass, gradients);
    expect([
      rows[0]!.tokens.length,
      pass.values.length,
      pass.offsets.length,
      gradients.length,
    ]).toEqual([14, 87, 7, 87]);
  });

  it('changes nothing of the engine beside it', async () => {
    const engine = await createOnnxEngine({ modelPath, threads: 1 });
    opened.push(engine);
    const before = await engine.trainer.forward({ rows });
    await fit(await open(), 2);
    expect((await engine.trainer.forward({ rows })).logprobs).toEqual(before.logprobs);
    expect(engine.capabilities.valueHead).toBe(true);
  });

  it('cancels open calls when it is closed, and rejects later ones', async () => {
    const critic = await open();
    const outcomes = Promise.allSettled([critic.forward({ rows }), critic.stats()]);
    await critic.close();
    for (const outcome of await outcomes)
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { name: 'CancelledError', reason: 'shutdown' },
      });
    await expect(critic.stats()).rejects.toMatchObject({
      name: 'EngineError',
      code: 'ENGINE_CLOSED',
    });
  });

  it('says what is wrong with the folder when it cannot open, and in its log when it can', async () => {
    await expect(open(join(root, 'nowhere'))).rejects.toBeInstanceOf(CheckpointError);
    const logger = recordingLogger();
    opened.push(await createOnnxCritic({ modelPath, threads: 1, logger }));
    expect(logger.lines).toMatchObject([{ level: 'info', fields: { modelPath, threads: 1 } }]);
  });
});
