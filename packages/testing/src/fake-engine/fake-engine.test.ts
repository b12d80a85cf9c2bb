import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CancelledError, EngineError } from '@trinity-rft/core';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { manualClock } from '../runtime/manual-clock.js';
import { addGradient, createBigram, nextToken } from './bigram.js';
import { fakeEngine, openFakeEngine } from './fake-engine.js';

const vocabSize = 6;
const published = { kind: 'published' } as const;

describe('the gradient of the fake engine', () => {
  it('is that of finite differences', () => {
    const token = fc.nat({ max: vocabSize - 1 });
    const factor = fc.double({ min: -2, max: 2, noNaN: true });
    fc.assert(
      fc.property(
        token,
        token,
        fc.constantFrom(0.5, 1, 2),
        factor,
        factor,
        fc.nat({ max: 99 }),
        (previous, drawn, temperature, ofLogprob, ofEntropy, seed) => {
          const model = createBigram(vocabSize, seed, 1);
          const value = (): number => {
            const { logprobs, entropy } = nextToken(model, previous, temperature);
            return ofLogprob * logprobs[drawn]! + ofEntropy * entropy;
          };
          const gradient = new Float64Array(vocabSize * vocabSize);
          addGradient(
            model,
            gradient,
            { previous, token: drawn, temperature },
            { logprob: ofLogprob, entropy: ofEntropy },
          );
          gradient.forEach((expected, i) => {
            const before = model.weights[i]!;
            model.weights[i] = before + 1e-5;
            const above = value();
            model.weights[i] = before - 1e-5;
            expect((above - value()) / 2e-5).toBeCloseTo(expected, 6);
            model.weights[i] = before;
          });
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe('fakeEngine', () => {
  it('learns by policy gradient to answer with the token after the prompt', async () => {
    const engine = fakeEngine({ vocabSize, seed: 1 });
    const accuracy: number[] = [];
    for (let step = 0; step < 60; step++) {
      await engine.trainer.publish(step);
      await engine.sampler.adopt(published, step);
      const prompts = Array.from({ length: vocabSize }, (_, token) => Int32Array.of(token));
      const groups = await Promise.all(
        prompts.map((prompt, i) =>
          engine.sampler.sample(prompt, { maxTokens: 1, n: 8, seed: step * vocabSize + i }),
        ),
      );
      const rows = groups.flatMap((group, i) =>
        group.map(({ tokens }) => ({
          tokens: Int32Array.of(i, ...tokens),
          promptLength: 1,
          temperature: 1,
        })),
      );
      const rewards = rows.map(({ tokens }) =>
        tokens[1] === (tokens[0]! + 1) % vocabSize ? 1 : 0,
      );
      const pass = await engine.trainer.forward({ rows });
      await engine.trainer.backward(pass, {
        logprobs: Float32Array.from(rewards, (reward) => -(reward - 0.3) / rows.length),
      });
      await engine.trainer.step({ learningRate: 0.2 });
      accuracy.push(rewards.reduce<number>((a, b) => a + b, 0) / rows.length);
    }
    expect(accuracy[0]).toBeLessThan(0.5);
    expect(accuracy.at(-1)).toBeGreaterThan(0.9);
  });

  it('draws with the frequencies it reports', async () => {
    const engine = fakeEngine({ vocabSize, scale: 1 });
    const { logprobs } = await engine.trainer.forward({
      rows: Array.from({ length: vocabSize }, (_, token) => ({
        tokens: Int32Array.of(0, token),
        promptLength: 1,
        temperature: 1,
      })),
    });
    const draws = 20_000;
    const counts = Array.from({ length: vocabSize }, () => 0);
    for (const { tokens } of await engine.sampler.sample(Int32Array.of(0), {
      maxTokens: 1,
      n: draws,
      seed: 4,
    }))
      counts[tokens[0]!]!++;
    logprobs.forEach((logprob, token) =>
      expect(Math.abs(counts[token]! / draws - Math.exp(logprob))).toBeLessThan(
        5 * Math.sqrt(0.25 / draws),
      ),
    );
  });

  it('ends with a stop string, by default of code points', async () => {
    const engine = fakeEngine({ vocabSize: 128, maxModelLen: 5000 });
    const [sequence] = await engine.sampler.sample(Int32Array.of(65), {
      maxTokens: 4000,
      seed: 1,
      stop: ['\n', 'zz'],
    });
    expect(sequence).toMatchObject({ stopReason: 'stop', stopString: '\n' });
    expect(sequence!.tokens.indexOf(10)).toBe(sequence!.tokens.length - 1);
  });

  it('fails once with an injected error, and changes nothing', async () => {
    const engine = fakeEngine({ vocabSize });
    const before = engine.weights();
    const error = new EngineError('worker died');
    for (const verb of ['step', 'publish', 'sample'] as const) engine.failNext(verb, error);
    await expect(engine.trainer.step({ learningRate: 1 })).rejects.toBe(error);
    await expect(engine.trainer.publish(1)).rejects.toBe(error);
    await expect(engine.sampler.adopt(published, 1)).rejects.toThrow('nothing was published');
    await expect(engine.sampler.sample(Int32Array.of(0), { maxTokens: 1, seed: 0 })).rejects.toBe(
      error,
    );
    expect(engine.weights()).toEqual(before);
    await expect(engine.trainer.step({ learningRate: 1 })).resolves.toMatchObject({ step: 1 });
  });

  it('opens the weights that another engine saved, to sample and to train', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fake-engine-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    await fakeEngine({ seed: 1 }).trainer.save(folder, { optimizer: false });
    const row = { tokens: Int32Array.of(1, 2, 3), promptLength: 1, temperature: 1 };
    const [saved, opened] = [fakeEngine({ seed: 1 }), await openFakeEngine(folder, { seed: 2 })];
    expect(await opened.sampler.score?.(row)).toEqual(await saved.sampler.score?.(row));
    const [a, b] = await Promise.all(
      [saved, opened].map(({ trainer }) => trainer.forward({ rows: [row] })),
    );
    expect(b?.logprobs).toEqual(a?.logprobs);
  });

  it('takes no time without a clock', () => {
    expect(() => fakeEngine({ sampleMs: 100 })).toThrow('needs a clock');
  });

  it('takes its time on the clock it was given', async () => {
    const clock = manualClock();
    const engine = fakeEngine({ vocabSize, sampleMs: 100, clock });
    const controller = new AbortController();
    const sampling = engine.sampler.sample(Int32Array.of(0), { maxTokens: 1, seed: 0 });
    const aborted = engine.sampler.sample(
      Int32Array.of(0),
      { maxTokens: 1, seed: 0 },
      controller.signal,
    );
    await clock.advance(99);
    expect(clock.sleeping).toBe(2);
    controller.abort();
    await expect(aborted).rejects.toBeInstanceOf(CancelledError);
    await clock.advance(1);
    expect(await sampling).toHaveLength(1);
  });

  it('decays weights by weightDecay only', async () => {
    const engine = fakeEngine({ vocabSize });
    const before = engine.weights();
    await engine.trainer.step({ learningRate: 0.1, weightDecay: 0.5 });
    engine.weights().forEach((weight, i) => expect(weight).toBeCloseTo(before[i]! * 0.95, 12));
  });
});
