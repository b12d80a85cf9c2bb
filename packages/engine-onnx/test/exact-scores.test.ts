/** Tests that the sampler reports the log-probabilities that the trainer computes, also for trained weights. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createRandom } from '@trinity-rft/core';
import type { Engine, SampledSequence, TokenRow } from '@trinity-rft/core/engine';
import { afterAll, expect, it } from 'vitest';

import { createModelFolder } from '../src/storage/new-model.js';
import { createEngineInThread } from './support/engine.js';

const root = mkdtempSync(join(tmpdir(), 'exact-scores-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const digits = 10;
const [plus, equals, end] = [10, 11, 12];
const random = createRandom(1);

/** A prompt `a + b =` with two digits each, and the answer: the sum's digits, least significant first. */
function problem(): { prompt: number[]; answer: number[] } {
  const [a, b] = [random.integer(100), random.integer(100)];
  const sum = a + b;
  const split = (n: number): number[] => [Math.floor(n / digits), n % digits];
  return {
    prompt: [...split(a), plus, ...split(b), equals],
    answer: [sum % digits, Math.floor(sum / digits) % digits, Math.floor(sum / 100), end],
  };
}

const supervised = (): TokenRow => {
  const { prompt, answer } = problem();
  return {
    tokens: Int32Array.from([...prompt, ...answer]),
    promptLength: prompt.length,
    temperature: 1,
  };
};

async function learn(engine: Engine, steps: number): Promise<number> {
  let loss = NaN;
  for (let step = 0; step < steps; step++) {
    const pass = await engine.trainer.forward({ rows: Array.from({ length: 32 }, supervised) });
    loss = -pass.logprobs.reduce((sum, logprob) => sum + logprob, 0) / pass.logprobs.length;
    await engine.trainer.backward(pass, {
      logprobs: pass.logprobs.map(() => -1 / pass.logprobs.length),
    });
    await engine.trainer.step({ learningRate: 3e-3, betas: [0.9, 0.95] });
  }
  return loss;
}

/** Largest difference between the log-probabilities of sampler and trainer for the same tokens. */
async function largestGap(engine: Engine, temperature: number): Promise<number> {
  const prompts = Array.from({ length: 24 }, (_, i) =>
    Int32Array.from([...problem().prompt, ...(i % 3 === 0 ? problem().prompt : [])]),
  );
  const options = { maxTokens: 24, temperature, n: 2, stopTokenIds: [end] };
  const groups = await Promise.all(
    prompts.map((prompt, seed) => engine.sampler.sample(prompt, { ...options, seed })),
  );
  const sampled = groups.flatMap((group, i) =>
    group.map((sequence) => ({ prompt: prompts[i]!, sequence })),
  );
  const row = ({
    prompt,
    sequence,
  }: {
    prompt: Int32Array;
    sequence: SampledSequence;
  }): TokenRow => ({
    tokens: Int32Array.of(...prompt, ...sequence.tokens),
    promptLength: prompt.length,
    temperature,
  });
  const pass = await engine.trainer.forward({ rows: sampled.map(row) });
  const gaps = sampled.flatMap(({ sequence }, i) =>
    Array.from(sequence.logprobs, (logprob, t) =>
      Math.abs(logprob - pass.logprobs[pass.offsets[i]! + t]!),
    ),
  );
  return Math.max(...gaps);
}

it(
  'agrees with the trainer to 1e-5 at the start and after hundreds of optimizer steps',
  { timeout: 240_000 },
  async () => {
    const modelPath = join(root, 'model');
    await createModelFolder({
      directory: modelPath,
      seed: 1,
      initializerRange: 0.04,
      config: { vocabSize: 16, hiddenSize: 64, layers: 2, heads: 4, kvHeads: 2, maxPositions: 64 },
    });
    const engine = await createEngineInThread({ modelPath, threads: 1 });
    const gaps: number[] = [];
    let loss = NaN;
    for (let round = 0; round < 4; round++) {
      await engine.trainer.publish(round);
      await engine.sampler.adopt({ kind: 'published' }, round);
      for (const temperature of [1, 0.6]) gaps.push(await largestGap(engine, temperature));
      if (round < 3) loss = await learn(engine, 100);
    }
    await engine.close();
    expect(loss).toBeLessThan(1.5);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1e-5);
  },
);

/** Expects the trainer to compute the log-probabilities that the sampler reported, bit for bit. */
async function expectSameBits(
  { trainer }: Engine,
  prompt: Int32Array,
  sampled: readonly SampledSequence[],
): Promise<void> {
  const rows = sampled.map(({ tokens }) => ({
    tokens: Int32Array.of(...prompt, ...tokens),
    promptLength: prompt.length,
    temperature: 1,
  }));
  const { logprobs } = await trainer.forward({ rows });
  expect([...logprobs]).toEqual(sampled.flatMap((each) => [...each.logprobs]));
}

it.each([256, 512])(
  'agrees to the last bit with heads %d wide, whatever the number of positions',
  async (headDim) => {
    const modelPath = join(root, `heads of ${headDim}`);
    const config = { vocabSize: 32, hiddenSize: 32, layers: 2, heads: 2, kvHeads: 1, headDim };
    await createModelFolder({ directory: modelPath, seed: 1, initializerRange: 0.2, config });
    const engine = await createEngineInThread({ modelPath, threads: 2 });
    await engine.trainer.publish(0);
    await engine.sampler.adopt({ kind: 'published' }, 0);
    const prompt = Int32Array.of(5, 11, 2, 7, 30);
    // The sampler's cache and the trainer's rows have different lengths, also around 64 positions.
    for (const maxTokens of [8, 20, 40, 55, 100]) {
      const sampled = await engine.sampler.sample(prompt, { maxTokens, n: 4, seed: maxTokens });
      await expectSameBits(engine, prompt, sampled);
    }
    await engine.close();
  },
);

it.each(['lfm2', 'qwen3_5_text', 'gemma4_text'])(
  'agrees to the last bit where layers keep states or share keys, alone and in a group: %s',
  async (name) => {
    const modelPath = new URL(`fixtures/${name}/`, import.meta.url).pathname;
    const engine = await createEngineInThread({ modelPath, threads: 2 });
    await engine.trainer.publish(0);
    await engine.sampler.adopt({ kind: 'published' }, 0);
    const prompt = Int32Array.of(5, 11, 2, 7, 30);
    for (const n of [1, 8]) {
      const sampled = await engine.sampler.sample(prompt, { maxTokens: 90, n, seed: n });
      await expectSameBits(engine, prompt, sampled);
    }
    await engine.close();
  },
);
