import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { createRandom } from '@trinity-rft/core';
import type { ValuePass } from '@trinity-rft/core/engine';
import { distance, largest } from '../../test/support/fixtures.js';
import { livelyWeights, randomBatch, tinyModels } from '../../test/support/models.js';
import { modelGradientErrors, normals } from '../../test/support/numeric.js';
import type { ModelConfig } from '../model/config.js';
import { embeddingName, headName, parameterSpecs, valueHeadNames } from '../model/parameters.js';
import { WeightBuffers } from '../model/weights.js';
import { trainingMemory } from '../train/memory.js';
import { OnnxTrainer } from '../train/trainer.js';
import { ValueTrainer } from './value-trainer.js';
import { cpu, flatOf } from '../../test/support/runtime.js';

const config: ModelConfig = { ...tinyModels.qwen3, head: 'value' };
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const trainer of open.splice(0)) await trainer.close();
});

function newCritic(
  model: ModelConfig = config,
  { memoryBudgetBytes, threads = 1 }: { memoryBudgetBytes?: number; threads?: number } = {},
) {
  const weights = new WeightBuffers(cpu(threads), model, livelyWeights(model));
  const trainer = new ValueTrainer({
    config: model,
    weights,
    memory: trainingMemory(memoryBudgetBytes),
  });
  open.push(trainer);
  return { trainer, weights };
}

const randomGradients = (pass: ValuePass, seed = 1): Float32Array =>
  normals(createRandom(seed), pass.values.length);

describe('gradients of the whole critic equal central differences', () => {
  test.each(Object.entries(tinyModels))('on the trunk of %s', async (_, model) => {
    const { trainer, weights } = newCritic({ ...model, head: 'value' });
    const batch = randomBatch(model, [7, 4, 9], 3);
    const pass = await trainer.forward(batch);
    const gradients = randomGradients(pass);
    await trainer.backward(pass, gradients);
    const scalar = async () =>
      (await trainer.forward(batch)).values.reduce((sum, x, i) => sum + x * gradients[i]!, 0);
    const specs = parameterSpecs({ ...model, head: 'value' });
    expect(specs.map((spec) => spec.name)).toContain('score.bias');
    expect(
      await modelGradientErrors(
        specs,
        flatOf(weights.training),
        flatOf(trainer.gradient!).slice(),
        scalar,
      ),
    ).toEqual([]);
  });
});

describe('the trunk of a critic', () => {
  test.each(['qwen3', 'llama'] as const)(
    'has the hidden states of the language model: a row of its head gives its logits, in %s',
    async (family) => {
      const model: ModelConfig = { ...tinyModels[family], tieEmbeddings: false };
      const language = new WeightBuffers(cpu(), model, livelyWeights(model));
      const { trainer, weights } = newCritic({ ...model, head: 'value' });
      const policy = new OnnxTrainer({ config: model, weights: language });
      open.push(policy);
      const head = parameterSpecs(model).find((spec) => spec.name === headName(model))!;
      const row = (id: number) =>
        flatOf(language.training).subarray(
          head.offset + id * model.hiddenSize,
          head.offset + (id + 1) * model.hiddenSize,
        );
      const batch = randomBatch(model, [9, 5, 14], 2);
      const logits = async (id: number) => {
        const all = new Float32Array(head.offset + model.hiddenSize + 1);
        all.set(flatOf(language.training).subarray(0, head.offset));
        all.set(row(id), head.offset);
        weights.update(all);
        return (await trainer.forward(batch)).values;
      };
      const all: Float32Array[] = [];
      for (let id = 0; id < model.vocabSize; id++) all.push(await logits(id));
      const { logprobs, offsets } = await policy.forward(batch);
      const targets = batch.rows.flatMap(({ tokens, promptLength }) => [
        ...tokens.subarray(promptLength),
      ]);
      const expected = targets.map((target, i) => {
        const total = all.reduce((sum, values) => sum + Math.exp(values[i]!), 0);
        return all[target]![i]! - Math.log(total);
      });
      expect(offsets.at(-1)).toBe(expected.length);
      expected.forEach((logprob, i) => expect(Math.abs(logprob - logprobs[i]!)).toBeLessThan(1e-5));
    },
  );
});

describe('micro-batches of a critic', () => {
  test.each([1, 2])(
    'give the same bits whatever shares a batch with a row, on %i threads',
    async (threads) => {
      const { trainer } = newCritic(
        { ...config, hiddenSize: 64, headDim: 16, intermediateSize: 384 },
        { threads },
      );
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.integer({ min: 2, max: 70 }), { minLength: 1, maxLength: 10 }),
          fc.integer(),
          async (lengths, seed) => {
            const batch = randomBatch(config, lengths, seed);
            const { values, offsets } = await trainer.forward(batch);
            for (let i = 0; i < lengths.length; i++) {
              expect(values.subarray(offsets[i], offsets[i + 1])).toEqual(
                (await trainer.forward({ rows: [batch.rows[i]!] })).values,
              );
            }
          },
        ),
        { numRuns: 6 },
      );
    },
  );

  test('of any budget add up to the same gradient', async () => {
    const batch = randomBatch(config, [5, 60, 12, 33, 8, 41]);
    const results = [];
    for (const memoryBudgetBytes of [2 ** 30, 1]) {
      const { trainer } = newCritic(config, { memoryBudgetBytes });
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
});

test.each([1, 2])(
  'the same calls give the same bits over three steps with %i threads',
  async (threads) => {
    const run = async () => {
      const { trainer, weights } = newCritic(config, { threads, memoryBudgetBytes: 2 ** 20 });
      const norms = [];
      for (let step = 0; step < 3; step++) {
        const pass = await trainer.forward(
          randomBatch(config, [5, 60, 12, 33, 8, 41, 60, 60], step),
        );
        await trainer.backward(pass, randomGradients(pass, step));
        norms.push((await trainer.step({ learningRate: 1e-2 })).gradNorm);
      }
      return { norms, flat: flatOf(weights.training), optimizer: trainer.optimizer };
    };
    expect(await run()).toEqual(await run());
  },
);

test('a critic learns returns: the squared error falls, from a head of zeros', async () => {
  const weights = new WeightBuffers(cpu(), config, livelyWeights(config));
  const head = parameterSpecs(config).filter((spec) =>
    Object.values<string>(valueHeadNames).includes(spec.name),
  );
  for (const { offset, size } of head) flatOf(weights.training).fill(0, offset, offset + size);
  const trainer = new ValueTrainer({ config, weights });
  open.push(trainer);
  const batch = randomBatch(config, [12, 20, 16]);
  const errors: number[] = [];
  for (let step = 0; step < 60; step++) {
    const pass = await trainer.forward(batch);
    const returns = Float32Array.from(pass.values, (_, i) => (i < pass.offsets[1]! ? 1 : -0.5));
    const differences = pass.values.map((value, i) => value - returns[i]!);
    errors.push(differences.reduce((sum, x) => sum + x * x, 0) / differences.length);
    await trainer.backward(
      pass,
      differences.map((x) => (2 * x) / differences.length),
    );
    await trainer.step({ learningRate: 1e-2 });
  }
  expect(errors[0]).toBeCloseTo(
    batchMean(
      batch.rows.map(({ tokens, promptLength }, i) => [
        tokens.length - promptLength,
        i === 0 ? 1 : 0.25,
      ]),
    ),
    6,
  );
  expect(errors.at(-1)!).toBeLessThan(errors[0]! / 10);
});

function batchMean(parts: readonly (readonly number[])[]): number {
  const count = parts.reduce((sum, [n]) => sum + n!, 0);
  return parts.reduce((sum, [n, value]) => sum + n! * value!, 0) / count;
}

describe('a critic rejects, naming the row,', () => {
  const row = { tokens: Int32Array.of(1, 2, 3), promptLength: 1, temperature: 1 };

  test('a row that it cannot read', async () => {
    const bad = { ...row, tokens: Int32Array.of(1, 23, 3) };
    await expect(newCritic().trainer.forward({ rows: [row, bad] })).rejects.toThrow(
      'Row 1 of the batch has the token id 23',
    );
  });

  test('a gradient that is not finite, or of another batch', async () => {
    const { trainer } = newCritic();
    const pass = await trainer.forward({ rows: [row, row] });
    await expect(trainer.backward(pass, Float32Array.of(0, 1, 1, NaN))).rejects.toThrow(
      'The gradient of the value of response token 1 in row 1 is NaN',
    );
    await expect(trainer.backward(pass, new Float32Array(3))).rejects.toThrow(
      'The gradients of values have 3 numbers; expected 4',
    );
    expect(trainer.gradient).toBeUndefined();
  });

  test('weights that give no finite value', async () => {
    const { trainer, weights } = newCritic();
    flatOf(weights.training).fill(NaN);
    await expect(trainer.forward({ rows: [row] })).rejects.toThrow(
      'The value of response token 0 in row 0 is NaN',
    );
  });
});

test('a critic has a value head in place of the head over tokens', () => {
  const names = parameterSpecs({ ...tinyModels.llama, head: 'value' }).map((spec) => spec.name);
  expect(names).toContain(embeddingName);
  expect(names).not.toContain('lm_head.weight');
  expect(names.slice(-2)).toEqual(['score.weight', 'score.bias']);
});
