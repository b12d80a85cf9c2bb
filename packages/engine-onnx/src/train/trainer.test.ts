import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createRandom } from '@trinity-rft/core';
import type { ForwardPass, TokenGradients } from '@trinity-rft/core/engine';
import { distance, largest } from '../../test/support/fixtures.js';
import { architectureConfig, architectures } from '../../test/support/architectures.js';
import { livelyWeights, randomBatch, tinyModels } from '../../test/support/models.js';
import { modelGradientErrors, normals } from '../../test/support/numeric.js';
import type { ModelConfig } from '../model/config.js';
import { parameterSpecs } from '../model/parameters.js';
import { WeightBuffers } from '../model/weights.js';
import { layerwiseCost, trainingMemory } from './memory.js';
import { OnnxTrainer } from './trainer.js';
import { cpu, flatOf } from '../../test/support/runtime.js';

const config: ModelConfig = tinyModels.qwen3;
const open: OnnxTrainer[] = [];

/** Model whose layer [64, 384] is divided differently for few and for many rows, with two threads. */
const fragile: ModelConfig = { ...config, hiddenSize: 64, headDim: 16, intermediateSize: 384 };

function newTrainer(model: ModelConfig = config, memoryBudgetBytes?: number, threads = 1) {
  const weights = new WeightBuffers(cpu(threads), model, livelyWeights(model));
  const trainer = new OnnxTrainer({
    config: model,
    weights,
    memory: trainingMemory(memoryBudgetBytes),
  });
  open.push(trainer);
  return { trainer, weights };
}

function randomGradients(
  pass: ForwardPass,
  seed = 1,
): { logprobs: Float32Array; entropy: Float32Array } {
  const random = createRandom(seed);
  return {
    logprobs: normals(random, pass.logprobs.length),
    entropy: normals(random, pass.logprobs.length),
  };
}

afterEach(async () => {
  for (const trainer of open.splice(0)) await trainer.close();
});

describe('gradients of the whole model equal central differences', () => {
  test.each(Object.entries(tinyModels))('of %s', async (_, model) => {
    const { trainer, weights } = newTrainer(model);
    const batch = randomBatch(model, [7, 4, 9], 3, 0.8);
    const pass = await trainer.forward(batch, { entropy: true });
    const gradients = randomGradients(pass);
    await trainer.backward(pass, gradients);
    const found = flatOf(trainer.gradient!).slice();
    const scalar = async () => {
      const { logprobs, entropy } = await trainer.forward(batch, { entropy: true });
      return logprobs.reduce(
        (sum, x, i) => sum + x * gradients.logprobs[i]! + entropy![i]! * gradients.entropy[i]!,
        0,
      );
    };
    expect(
      await modelGradientErrors(parameterSpecs(model), flatOf(weights.training), found, scalar),
    ).toEqual([]);
  });
});

describe('a backward pass that fails', () => {
  test('leaves nothing of itself, and the lost passes before it are named by the next step', async () => {
    const { trainer, weights } = newTrainer();
    const batch = randomBatch(config, [7, 4, 9], 3, 0.8);
    const pass = await trainer.forward(batch, { entropy: true });
    const gradients = randomGradients(pass);
    const norm = async () => (await trainer.step({ learningRate: 0 })).gradNorm;
    await trainer.backward(pass, gradients);
    const whole = await norm();

    const settled = vi.spyOn(weights, 'settled');
    settled.mockRejectedValueOnce(new Error('out of memory'));
    await expect(trainer.backward(pass, gradients)).rejects.toThrow('out of memory');
    await trainer.backward(pass, gradients);
    expect(await norm()).toBe(whole);

    await trainer.backward(pass, gradients);
    settled.mockRejectedValueOnce(new Error('out of memory'));
    await expect(trainer.backward(pass, gradients)).rejects.toThrow('out of memory');
    await trainer.backward(pass, gradients);
    await expect(norm()).rejects.toMatchObject({ code: 'GRADIENT_LOST' });
    await trainer.backward(pass, gradients);
    expect(await norm()).toBe(whole);
  });
});

describe('micro-batches', () => {
  test.each([
    ['one thread', config, 1],
    ['two threads', fragile, 2],
  ] as const)(
    'give the same bits whatever shares a batch with a row, on %s',
    async (_, model, threads) => {
      const { trainer } = newTrainer(model, undefined, threads);
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.integer({ min: 2, max: 70 }), { minLength: 1, maxLength: 12 }),
          fc.integer(),
          async (lengths, seed) => {
            const batch = randomBatch(model, lengths, seed);
            const together = await trainer.forward(batch, { entropy: true });
            for (let i = 0; i < lengths.length; i++) {
              const alone = await trainer.forward({ rows: [batch.rows[i]!] }, { entropy: true });
              expect(
                together.logprobs.subarray(together.offsets[i], together.offsets[i + 1]),
              ).toEqual(alone.logprobs);
              expect(
                together.entropy!.subarray(together.offsets[i], together.offsets[i + 1]),
              ).toEqual(alone.entropy);
            }
          },
        ),
        { numRuns: 8 },
      );
    },
  );

  test('of any budget add up to the same gradient', async () => {
    const batch = randomBatch(config, [5, 60, 12, 33, 8, 41]);
    const results = [];
    for (const budget of [2 ** 30, 1]) {
      const { trainer } = newTrainer(config, budget);
      const pass = await trainer.forward(batch);
      await trainer.backward(pass, randomGradients(pass));
      results.push({
        gradient: flatOf(trainer.gradient!).slice(),
        runs: trainer.takeStats()['perf/backward_micro_batches']!,
      });
    }
    const [whole, split] = results as [(typeof results)[0], (typeof results)[0]];
    expect([whole.runs, split.runs]).toEqual([1, 6]);
    expect(distance(whole.gradient, split.gradient) / largest(whole.gradient)).toBeLessThan(1e-5);
  });

  test.each([
    ...Object.entries(tinyModels),
    ...architectures.map((name) => [name, architectureConfig(name)] as const),
  ])(
    'give the gradients of one graph when they are computed layer by layer, of %s',
    async (name, model) => {
      const batch = randomBatch(model, [5, 40, 12], 3, 0.8);
      const found = [];
      for (const budget of [2 ** 30, 1]) {
        const { trainer } = newTrainer(model, budget);
        const pass = await trainer.forward(batch);
        for (const seed of [1, 2]) await trainer.backward(pass, randomGradients(pass, seed));
        found.push(flatOf(trainer.gradient!).slice());
      }
      const [whole, layerwise] = found as [Float32Array, Float32Array];
      const errors = parameterSpecs(model).map(({ offset, size }) => {
        const [a, b] = [whole, layerwise].map((flat) => flat.subarray(offset, offset + size));
        return distance(a!, b!) / (largest(a!) || 1);
      });
      // Scores of Gemma 4 are not divided by anything, so softmax amplifies rounding errors.
      expect(Math.max(...errors)).toBeLessThan(name === 'gemma4_text' ? 5e-4 : 1e-4);
    },
  );

  test.each([2 ** 30, 1])(
    'give the same gradient, and log-probabilities too, in one pass where it is known before (budget %i)',
    async (budget) => {
      const batch = randomBatch(config, [5, 40, 12], 3, 0.8);
      const { trainer } = newTrainer(config, budget);
      const pass = await trainer.forward(batch);
      const gradients = randomGradients(pass).logprobs;
      gradients.fill(0, pass.offsets[1], pass.offsets[2]);
      await trainer.backward(pass, { logprobs: gradients });
      const twoPasses = flatOf(trainer.gradient!).slice();
      trainer.restore();
      const { logprobs } = await trainer.forwardBackward(batch, gradients);
      expect(flatOf(trainer.gradient!)).toEqual(twoPasses);
      expect(distance(logprobs, pass.logprobs)).toBeLessThan(1e-5);
      expect(trainer.takeStats()['perf/rows_without_gradient']).toBe(2);
    },
  );

  test('run as parts of a large vocabulary and give what one part gives', async () => {
    const large: ModelConfig = { ...config, vocabSize: 40_000, layers: 1 };
    const { trainer } = newTrainer(large);
    const batch = randomBatch(large, [9, 30, 17]);
    const pass = await trainer.forward(batch, { entropy: true });
    for (let i = 0; i < 3; i++) {
      const alone = await trainer.forward({ rows: [batch.rows[i]!] });
      expect(pass.logprobs.subarray(pass.offsets[i], pass.offsets[i + 1])).toEqual(alone.logprobs);
    }
    const gradients = randomGradients(pass);
    await trainer.backward(pass, gradients);
    const together = flatOf(trainer.gradient!).slice();
    trainer.restore();
    for (let i = 0; i < 3; i++) {
      const cut = (x: Float32Array) =>
        x.map((value, at) => (at >= pass.offsets[i]! && at < pass.offsets[i + 1]! ? value : 0));
      await trainer.backward(pass, {
        logprobs: cut(gradients.logprobs),
        entropy: cut(gradients.entropy),
      });
    }
    expect(distance(together, flatOf(trainer.gradient!)) / largest(together)).toBeLessThan(1e-5);
  });

  test('leave out rows whose gradients are all zero', async () => {
    const { trainer } = newTrainer();
    const batch = randomBatch(config, [9, 12, 9]);
    const pass = await trainer.forward(batch);
    const logprobs = new Float32Array(pass.logprobs.length);
    logprobs.fill(0.5, pass.offsets[1], pass.offsets[2]);
    trainer.takeStats();
    await trainer.backward(pass, { logprobs });
    expect(trainer.takeStats()).toMatchObject({
      'perf/rows_without_gradient': 2,
      'perf/backward_tokens': 11,
    });
    const alone = newTrainer().trainer;
    await alone.backward(await alone.forward({ rows: [batch.rows[1]!] }), {
      logprobs: logprobs.subarray(pass.offsets[1], pass.offsets[2]),
    });
    expect(trainer.gradient).toEqual(alone.gradient);
  });
});

describe('rows that share a prompt', () => {
  const promptLength = 32;
  const batchOf = (model: ModelConfig) => {
    const { rows } = randomBatch(model, [promptLength, promptLength - 1], 1);
    const prompts = rows.map(({ tokens }) => [...tokens]);
    return {
      rows: [5, 1, 3, 4, 2, 5].map((count, i) => ({
        tokens: Int32Array.of(
          ...prompts[i % 2]!,
          ...Array.from({ length: count }, (_, t) => (7 * i + 3 * t) % model.vocabSize),
        ),
        promptLength: prompts[i % 2]!.length,
        temperature: 0.9,
      })),
    };
  };
  /** A model wide enough that sharing a prompt between rows saves time. */
  const wide = (model: ModelConfig): ModelConfig => ({
    ...model,
    intermediateSize: 2048,
    experts: model.experts && { ...model.experts, size: 1024 },
  });
  const known: readonly (readonly [string, ModelConfig])[] = [
    ...Object.entries(tinyModels),
    ...architectures.map((name) => [name, architectureConfig(name)] as const),
  ];
  const models = known.flatMap(([name, model]) =>
    model.layerTraits?.some(({ mixer, window }) => mixer ?? window)
      ? []
      : [[name, wide(model)] as const],
  );

  test.each(models)('read it once, and add up to their own gradients, of %s', async (_, model) => {
    const batch = batchOf(model);
    const sums = [];
    // With the smaller budget, which is that of the larger group, gradients come layer by layer.
    for (const budget of [2 ** 30, layerwiseCost(model)(1, promptLength - 1 + 10, 10)]) {
      const { trainer } = newTrainer(model, budget);
      const pass = await trainer.forward(batch);
      const gradients = randomGradients(pass);
      trainer.takeStats();
      await trainer.backward(pass, gradients);
      const { 'perf/backward_tokens': tokens } = trainer.takeStats();
      expect(tokens).toBeLessThan(0.5 * 6 * promptLength);
      const together = flatOf(trainer.gradient!).slice();
      trainer.restore();
      for (const [row, start] of pass.offsets.subarray(0, -1).entries()) {
        const only = (numbers: Float32Array) =>
          numbers.map((x, i) => (i >= start && i < pass.offsets[row + 1]! ? x : 0));
        const own = { logprobs: only(gradients.logprobs), entropy: only(gradients.entropy) };
        await trainer.backward(pass, own);
      }
      sums.push([together, flatOf(trainer.gradient!).slice()] as const);
    }
    for (const [together, alone] of sums)
      expect(distance(together, alone) / largest(alone)).toBeLessThan(1e-5);
  });
});

test('rows that share a prompt are read one by one where layers have convolutions', async () => {
  const { trainer } = newTrainer({ ...architectureConfig('lfm2'), intermediateSize: 2048 });
  const [row] = randomBatch(config, [30]).rows;
  const batch = { rows: Array.from({ length: 4 }, () => ({ ...row!, promptLength: 25 })) };
  const pass = await trainer.forward(batch);
  trainer.takeStats();
  await trainer.backward(pass, randomGradients(pass));
  expect(trainer.takeStats()['perf/backward_tokens']).toBe(4 * 29);
});

test('temperature divides the logits', async () => {
  const { trainer, weights } = newTrainer({ ...config, tieEmbeddings: false });
  const [cold] = [await trainer.forward(randomBatch(config, [12], 1, 0.5))];
  const head = parameterSpecs({ ...config, tieEmbeddings: false }).find(
    (spec) => spec.name === 'lm_head.weight',
  )!;
  weights.update(flatOf(weights.training).map((x, i) => (i >= head.offset ? x * 2 : x)));
  const doubled = await trainer.forward(randomBatch(config, [12], 1, 1));
  cold!.logprobs.forEach((x, i) => expect(x).toBeCloseTo(doubled.logprobs[i]!, 5));
});

describe('the same calls give the same bits', () => {
  test.each([1, 2])('over three steps with %i threads', async (threads) => {
    const run = async () => {
      const weights = new WeightBuffers(cpu(threads), config, livelyWeights(config));
      const trainer = new OnnxTrainer({
        config,
        weights,
        memory: trainingMemory(2 ** 20),
      });
      open.push(trainer);
      const norms = [];
      for (let step = 0; step < 3; step++) {
        const pass = await trainer.forward(
          randomBatch(config, [5, 60, 12, 33, 8, 41, 60, 60], step),
          { entropy: true },
        );
        await trainer.backward(pass, randomGradients(pass, step));
        norms.push((await trainer.step({ learningRate: 1e-2 })).gradNorm);
      }
      return { norms, flat: flatOf(weights.training), optimizer: trainer.optimizer };
    };
    expect(await run()).toEqual(await run());
  });
});

describe('a step', () => {
  test('learns: the log-probability of a sequence rises', async () => {
    const { trainer } = newTrainer();
    const batch = randomBatch(config, [16]);
    const mean = (pass: ForwardPass) =>
      pass.logprobs.reduce((a, b) => a + b, 0) / pass.logprobs.length;
    const before = await trainer.forward(batch);
    for (let i = 0; i < 10; i++) {
      const pass = await trainer.forward(batch);
      await trainer.backward(pass, {
        logprobs: pass.logprobs.map(() => -1 / pass.logprobs.length),
      });
      await trainer.step({ learningRate: 1e-2 });
    }
    expect(mean(await trainer.forward(batch))).toBeGreaterThan(mean(before) + 1);
  });

  test('without a gradient changes nothing but the counter and the decay', async () => {
    const { trainer, weights } = newTrainer();
    const before = flatOf(weights.training).slice();
    expect(await trainer.step({ learningRate: 0.1, weightDecay: 0 })).toEqual({
      step: 1,
      gradNorm: 0,
      skipped: false,
    });
    expect(flatOf(weights.training)).toEqual(before);
  });

  test('whose gradient overflows is skipped and forgets the gradient', async () => {
    const { trainer, weights } = newTrainer();
    const before = flatOf(weights.training).slice();
    const pass = await trainer.forward(randomBatch(config, [8]));
    await trainer.backward(pass, { logprobs: pass.logprobs.map(() => 3e38) });
    expect(await trainer.step({ learningRate: 0.1 })).toMatchObject({ step: 0, skipped: true });
    expect(flatOf(weights.training)).toEqual(before);
    expect(await trainer.step({ learningRate: 0.1, weightDecay: 0 })).toEqual({
      step: 1,
      gradNorm: 0,
      skipped: false,
    });
  });

  test('leaves published weights alone', async () => {
    const { trainer, weights } = newTrainer();
    weights.publish();
    const lease = await weights.leasePublished().lease();
    const before = flatOf(lease.set).slice();
    const pass = await trainer.forward(randomBatch(config, [8]));
    await trainer.backward(pass, { logprobs: pass.logprobs.map(() => -1) });
    await trainer.step({ learningRate: 0.1 });
    expect(flatOf(lease.set)).toEqual(before);
    expect(flatOf(weights.training)).not.toEqual(before);
  });
});

describe('rejects, naming the row,', () => {
  const row = { tokens: Int32Array.of(1, 2, 3), promptLength: 1, temperature: 1 };
  test.each([
    ['an empty prompt', { ...row, promptLength: 0 }, 'Row 1 of the batch has a prompt of 0 tokens'],
    [
      'a prompt longer than the tokens',
      { ...row, promptLength: 4 },
      'Row 1 of the batch has 3 tokens but a prompt of 4',
    ],
    [
      'a prompt with nothing after it',
      { ...row, promptLength: 3 },
      'Row 1 of the batch has 3 tokens but a prompt of 3',
    ],
    [
      'an unknown id',
      { ...row, tokens: Int32Array.of(1, 23, 3) },
      'Row 1 of the batch has the token id 23; expected ids from 0 to 22, the rows of the embeddings; use the tokenizer of this model',
    ],
    [
      'a negative id',
      { ...row, tokens: Int32Array.of(1, 2, -1) },
      'Row 1 of the batch has the token id -1',
    ],
    [
      'a row beyond the positions',
      { ...row, tokens: new Int32Array(513) },
      'Row 1 of the batch has 513 tokens; expected at most 512',
    ],
    ['temperature 0', { ...row, temperature: 0 }, 'Row 1 of the batch has the temperature 0'],
  ])('%s', async (_, bad, message) => {
    await expect(newTrainer().trainer.forward({ rows: [row, bad] })).rejects.toThrow(message);
  });

  test('a gradient that is not finite', async () => {
    const { trainer } = newTrainer();
    const pass = await trainer.forward({ rows: [row, row] });
    const backward = trainer.backward(pass, { logprobs: Float32Array.of(0, 1, 1, NaN) });
    await expect(backward).rejects.toThrow(
      'The gradient of the log-probability of response token 1 in row 1 is NaN',
    );
    expect(trainer.gradient).toBeUndefined();
  });

  test('weights that give no finite result', async () => {
    const { trainer, weights } = newTrainer();
    flatOf(weights.training).fill(NaN);
    await expect(trainer.forward({ rows: [row] })).rejects.toThrow(
      'The log-probability of response token 0 in row 0 is NaN',
    );
  });

  test('gradients of another batch', async () => {
    const { trainer } = newTrainer();
    const pass = await trainer.forward({ rows: [row] });
    const wrong: TokenGradients = { logprobs: new Float32Array(3) };
    await expect(trainer.backward(pass, wrong)).rejects.toThrow(
      'The gradients of logprobs have 3 numbers; expected 2',
    );
  });
});

test('reference weights score what the frozen model would', async () => {
  const { trainer, weights } = newTrainer();
  const batch = randomBatch(config, [9]);
  await expect(trainer.forward(batch, { weights: 'reference' })).rejects.toThrow(
    'opened without reference weights',
  );
  weights.setReference(flatOf(weights.training).slice());
  const before = await trainer.forward(batch);
  flatOf(weights.training).fill(0.01);
  expect((await trainer.forward(batch, { weights: 'reference' })).logprobs).toEqual(
    before.logprobs,
  );
});
