/** A real SkyRL server beside the embedded engine, on the same weights. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Engine } from '@trinity-rft/core';
import { createRandom, type TokenBatch } from '@trinity-rft/core/internal';
import { createOnnxEngine } from '@trinity-rft/engine-onnx';
import { createTinkerEngine } from '@trinity-rft/engine-tinker';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createModel } from '../src/create-model.js';
import { adapterGradient, normWithSharedMatrices } from './support/adapter-gradient.js';
import { findSkyrl, startSkyrl, type StartedSkyrl } from './support/skyrl.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-skyrl-'));
const modelPath = path.join(root, 'model');
const checkpoint = path.join(root, 'checkpoint');
let server: StartedSkyrl | undefined;
let missing = '';

beforeAll(async () => {
  await createModel({
    directory: modelPath,
    tokenizer: { characters: '0123456789+=\n' },
    initializerRange: 0.2,
    seed: 5,
  });
  const found = await findSkyrl();
  if ('missing' in found) ({ missing } = found);
  else server = await startSkyrl({ ...found, modelPath, directory: root });
}, 2_400_000);
afterAll(async () => {
  await server?.stop();
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});
beforeEach(({ skip }) => skip(missing !== '', missing));

const onServer = async <T>(work: (engine: Engine) => Promise<T>): Promise<T> => {
  const engine = await createTinkerEngine({ modelPath, baseUrl: server?.url, rank: 4, seed: 3 });
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
};

const random = createRandom(9);
const rowOf = (length: number, promptLength: number) => ({
  tokens: Int32Array.from({ length }, () => random.integer(14)),
  promptLength,
  temperature: 1,
});
const batch: TokenBatch = { rows: [rowOf(9, 3), rowOf(5, 1), rowOf(12, 4)] };
/** Of both signs, so that weights of cross-entropy would add up to anything. */
const gradients = Float32Array.from({ length: 18 }, (_, i) => ((i % 5) - 2.2) / 7);
const still = { learningRate: 0, clipGradNorm: 0, weightDecay: 0 };

async function learn(engine: Engine, steps: number): Promise<void> {
  for (let i = 0; i < steps; i++) {
    const pass = await engine.trainer.forward(batch);
    await engine.trainer.backward(pass, { logprobs: pass.logprobs.map(() => -1 / 18) });
    await engine.trainer.step({ learningRate: 0.02, weightDecay: 0 });
  }
}

const logprobsOf = async ({ trainer }: Engine): Promise<readonly number[]> => [
  ...(await trainer.forward(batch)).logprobs,
];
const difference = (a: readonly number[], b: readonly number[]): number =>
  Math.max(...a.map((value, i) => Math.abs(value - (b[i] ?? Number.NaN))));

/** In two parts, the second of which has rows without a gradient. */
async function gatherGradients({ trainer }: Engine): Promise<void> {
  const pass = await trainer.forward(batch);
  const halved = (rest: number) => ({
    logprobs: gradients.map((value, i) => (i < 6 ? value / 2 : value * rest)),
  });
  await trainer.backward(pass, halved(1));
  await trainer.backward(pass, halved(0));
}

describe('SkyRL 0.4.0', { tags: ['external'], timeout: 600_000 }, () => {
  it('learns, and its adapter has here the same log-probabilities and gradient norm', () =>
    onServer(async (engine) => {
      const before = await logprobsOf(engine);
      await learn(engine, 3);
      const remote = await logprobsOf(engine);
      const mean = (values: readonly number[]): number =>
        values.reduce((sum, value) => sum + value, 0) / values.length;
      expect(mean(remote)).toBeGreaterThan(mean(before) + 0.5);
      await engine.trainer.save(checkpoint, { optimizer: true });
      const lora = { path: path.join(checkpoint, 'lora_adapter') };
      const local = await createOnnxEngine({ modelPath, lora, threads: 1 });
      try {
        expect(difference(await logprobsOf(local), remote)).toBeLessThan(1e-4);
        await gatherGradients(local);
        const after = path.join(root, 'after');
        const here = normWithSharedMatrices(
          await adapterGradient(local.trainer, checkpoint, after),
        );
        await gatherGradients(engine);
        const { gradNorm: there } = await engine.trainer.step(still);
        expect(Math.abs(there / here - 1)).toBeLessThan(1e-3);
        expect(here).toBeGreaterThan(0.1);
      } finally {
        await local.close();
      }
    }));

  it('continues from a checkpoint in another session', () =>
    onServer(async (engine) => {
      const fresh = await logprobsOf(engine);
      await engine.trainer.load(checkpoint);
      const loaded = await logprobsOf(engine);
      expect(difference(loaded, fresh)).toBeGreaterThan(0.1);
      const pass = await engine.trainer.forward(batch);
      await engine.trainer.backward(pass, { logprobs: gradients });
      expect((await engine.trainer.step(still)).step).toBe(4);
      expect(difference(await logprobsOf(engine), loaded)).toBeLessThan(1e-5);
    }));

  it('samples what was published while training goes on, and each publication in its turn', () =>
    onServer(async (engine) => {
      const prompt = Int32Array.of(1, 2, 3);
      const options = { maxTokens: 6, seed: 4 };
      for (const version of [1, 2]) {
        await engine.trainer.publish(version);
        await engine.sampler.adopt({ kind: 'published' }, version);
        const [sample] = await engine.sampler.sample(prompt, options);
        const tokens = Int32Array.of(...prompt, ...(sample?.tokens ?? []));
        const row = { tokens, promptLength: 3, temperature: 1 };
        const { logprobs } = await engine.trainer.forward({ rows: [row] });
        const sampled = [...(sample?.logprobs ?? [])];
        expect(sample?.policyVersion).toBe(version);
        expect(difference(sampled, [...logprobs])).toBeLessThan(1e-4);
        const trained = await logprobsOf(engine);
        await learn(engine, 2);
        const [again] = await engine.sampler.sample(prompt, options);
        expect([...(again?.tokens ?? [])]).toEqual([...(sample?.tokens ?? [])]);
        expect(difference([...(again?.logprobs ?? [])], sampled)).toBeLessThan(1e-5);
        // Sampling has not put older weights in the place of the trained ones.
        expect(difference(await logprobsOf(engine), trained)).toBeGreaterThan(0.01);
      }
    }));
});
