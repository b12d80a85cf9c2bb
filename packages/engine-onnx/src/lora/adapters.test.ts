import { createRandom } from '@trinity-rft/core';
import type { ForwardPass } from '@trinity-rft/core/engine';
import { afterEach, describe, expect, test } from 'vitest';

import { architectureConfig } from '../../test/support/architectures.js';
import { livelyWeights, randomBatch, tinyModels } from '../../test/support/models.js';
import { difference, normals } from '../../test/support/numeric.js';
import type { ModelConfig } from '../model/config.js';
import { parameterSpecs } from '../model/parameters.js';
import { WeightBuffers } from '../model/weights.js';
import { trainingMemory } from '../train/memory.js';
import { OnnxTrainer } from '../train/trainer.js';
import { Adapters } from './adapters.js';
import { initialAdapters } from './initial.js';
import { adapterTargets, planAdapters, type NewAdapters } from './plan.js';
import { cpu, flatOf } from '../../test/support/runtime.js';

const config: ModelConfig = tinyModels.qwen3;
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

interface TestAdapters extends Partial<NewAdapters> {
  /** True for adapters that change the model's output. @default false */
  readonly lively?: boolean;
  readonly memoryBudgetBytes?: number;
}

async function newTrainer(
  model: ModelConfig,
  { lively = false, memoryBudgetBytes, ...wanted }: TestAdapters = {},
) {
  const weights = new WeightBuffers(cpu(), model, livelyWeights(model));
  const plan = planAdapters(model, { rank: 3, alpha: 6, ...wanted });
  const targets = adapterTargets(model, plan);
  const initial = initialAdapters(targets, 7);
  if (lively) initial.set(normals(createRandom(8), initial.length).map((x) => 0.2 * x));
  const adapters = await Adapters.open({ config: model, plan, weights, initial });
  const trainer = new OnnxTrainer({
    config: model,
    weights,
    trainable: adapters,
    memory: trainingMemory(memoryBudgetBytes),
  });
  open.push(trainer, adapters);
  return { trainer, adapters, weights, targets };
}

const weightGradients = (pass: ForwardPass, seed = 1) => {
  const random = createRandom(seed);
  return {
    logprobs: normals(random, pass.logprobs.length),
    entropy: normals(random, pass.logprobs.length),
  };
};

describe('gradients of adapters equal central differences', () => {
  const models = [
    ...Object.entries(tinyModels),
    ...(
      ['phi3', 'qwen3_moe', 'lfm2', 'qwen3_5_text', 'granitemoehybrid', 'gemma4_text'] as const
    ).map((name) => [name, architectureConfig(name)] as const),
  ];
  test.each(models)('of %s', async (_, model) => {
    const { trainer, adapters } = await newTrainer(model, { lively: true });
    await adapters.merge();
    const batch = randomBatch(model, [7, 4, 9], 3, 0.8);
    const pass = await trainer.forward(batch, { entropy: true });
    const gradients = weightGradients(pass);
    await trainer.backward(pass, gradients);
    const found = flatOf(trainer.gradient!).slice();
    const scalar = async () => {
      await adapters.merge();
      const { logprobs, entropy } = await trainer.forward(batch, { entropy: true });
      return logprobs.reduce(
        (sum, x, i) => sum + x * gradients.logprobs[i]! + entropy![i]! * gradients.entropy[i]!,
        0,
      );
    };
    const random = createRandom(5);
    const wrong = [];
    for (const { name, offset, size } of adapters.specs) {
      const part = found.subarray(offset, offset + size);
      const scale = part.reduce((max, x) => Math.max(max, Math.abs(x)), 0.1);
      for (let probe = 0; probe < 2; probe++) {
        const index = random.integer(size);
        const expected = await difference(flatOf(adapters.set), offset + index, scalar, 4e-3);
        if (!(Math.abs(part[index]! - expected) / scale < 1e-2))
          wrong.push({ name, index, found: part[index], expected });
      }
    }
    expect(wrong).toEqual([]);
  });
});

/** The gradient of every whole matrix, at the weights `flat`. */
async function wholeGradient(model: ModelConfig, flat: Float32Array): Promise<Float32Array> {
  const trainer = new OnnxTrainer({
    config: model,
    weights: new WeightBuffers(cpu(), model, flat.slice()),
  });
  open.push(trainer);
  const pass = await trainer.forward(randomBatch(model, [12, 9, 30]));
  await trainer.backward(pass, { logprobs: weightGradients(pass).logprobs });
  return flatOf(trainer.gradient!).slice();
}

describe('gradients of adapters are the projected gradients of the matrices', () => {
  test.each([
    ['beginning', false],
    ['trained', true],
  ])('of %s adapters', async (_, lively) => {
    const { trainer, adapters, targets, weights } = await newTrainer(config, { lively });
    await adapters.merge();
    const pass = await trainer.forward(randomBatch(config, [12, 9, 30]));
    await trainer.backward(pass, { logprobs: weightGradients(pass).logprobs });
    const whole = await wholeGradient(config, flatOf(weights.training));
    const scale = 6 / 3;
    const errors = targets.flatMap(({ weight, a, b }) => {
      const [out, input] = weight.shape as [number, number];
      const g = (o: number, i: number): number => whole[weight.offset + o * input + i]!;
      const A = (r: number, i: number): number => flatOf(adapters.set)[a.offset + r * input + i]!;
      const B = (o: number, r: number): number => flatOf(adapters.set)[b.offset + o * 3 + r]!;
      const dA = Float64Array.from({ length: a.size }, (__, at) => {
        const [r, i] = [Math.floor(at / input), at % input];
        let sum = 0;
        for (let o = 0; o < out; o++) sum += scale * B(o, r) * g(o, i);
        return sum;
      });
      const dB = Float64Array.from({ length: b.size }, (__, at) => {
        const [o, r] = [Math.floor(at / 3), at % 3];
        let sum = 0;
        for (let i = 0; i < input; i++) sum += scale * g(o, i) * A(r, i);
        return sum;
      });
      return [
        {
          name: a.name,
          error: relativeError(flatOf(trainer.gradient!).subarray(a.offset, a.offset + a.size), dA),
        },
        {
          name: b.name,
          error: relativeError(flatOf(trainer.gradient!).subarray(b.offset, b.offset + b.size), dB),
        },
      ];
    });
    expect(errors.filter(({ error }) => !(error < 1e-5))).toEqual([]);
    const moved = targets.some(({ a }) =>
      flatOf(trainer.gradient!)
        .subarray(a.offset, a.offset + a.size)
        .some((x) => x !== 0),
    );
    // While B is 0, A does not matter.
    expect(moved).toBe(lively);
  });
});

function relativeError(found: Float32Array, expected: Float64Array): number {
  const scale = expected.reduce((max, x) => Math.max(max, Math.abs(x)), 1e-3);
  return found.reduce((max, x, i) => Math.max(max, Math.abs(x - expected[i]!)), 0) / scale;
}

async function trainedSteps(model: ModelConfig, steps: number, wanted: TestAdapters = {}) {
  const made = await newTrainer(model, wanted);
  const norms = [];
  for (let step = 0; step < steps; step++) {
    const pass = await made.trainer.forward(randomBatch(model, [12, 9, 30], step));
    await made.trainer.backward(pass, { logprobs: weightGradients(pass, step).logprobs });
    norms.push((await made.trainer.step({ learningRate: 1e-2, weightDecay: 0 })).gradNorm);
  }
  await made.weights.settled();
  return { ...made, norms };
}

describe('a step', () => {
  test('of full rank moves each matrix by the step of B times A', async () => {
    const rank = 16;
    const { adapters, weights, targets } = await trainedSteps(config, 1, {
      rank,
      alpha: rank,
      targetModules: ['q_proj', 'down_proj'],
    });
    const start = initialAdapters(targets, 7);
    const before = livelyWeights(config);
    const wrong = targets.filter(({ weight, a, b }) => {
      const [, input] = weight.shape as [number, number];
      // B was 0, so A has no gradient yet: what changes is B A with the A of the beginning.
      if (
        flatOf(adapters.set)
          .subarray(a.offset, a.offset + a.size)
          .some((x, i) => x !== start[a.offset + i])
      )
        return true;
      return flatOf(weights.training)
        .subarray(weight.offset, weight.offset + weight.size)
        .some((x, at) => {
          const [o, i] = [Math.floor(at / input), at % input];
          let product = 0;
          for (let r = 0; r < rank; r++)
            product +=
              flatOf(adapters.set)[b.offset + o * rank + r]! * start[a.offset + r * input + i]!;
          return !(Math.abs(x - before[weight.offset + at]! - product) < 1e-6);
        });
    });
    expect(wrong).toEqual([]);
    expect(flatOf(adapters.set).some((x, i) => x !== start[i])).toBe(true);
  });

  test.each([['all-linear' as const], [['v_proj', 'gate_proj']]])(
    'with adapters of %s leaves all else alone',
    async (targetModules) => {
      const { adapters, weights, targets } = await trainedSteps(config, 3, { targetModules });
      const before = livelyWeights(config);
      expect(adapters.base.all()).toEqual(before);
      const changed = parameterSpecs(config).filter(({ offset, size }) =>
        flatOf(weights.training)
          .subarray(offset, offset + size)
          .some((x, i) => !Object.is(x, before[offset + i])),
      );
      expect(changed.map(({ name }) => name)).toEqual(targets.map(({ weight }) => weight.name));
    },
  );

  test('clips by the norm of the adapters alone', async () => {
    const { trainer } = await newTrainer(config, { lively: true });
    const pass = await trainer.forward(randomBatch(config, [12]));
    await trainer.backward(pass, { logprobs: pass.logprobs.map(() => 1) });
    const norm = Math.sqrt(flatOf(trainer.gradient!).reduce((sum, x) => sum + x * x, 0));
    expect((await trainer.step({ learningRate: 0 })).gradNorm).toBeCloseTo(norm, 4);
    expect(flatOf(trainer.optimizer!.first)).toHaveLength(flatOf(trainer.gradient!).length);
  });

  test('does not touch published weights', async () => {
    const { trainer, weights } = await trainedSteps(config, 1);
    weights.publish();
    const lease = await weights.leasePublished().lease();
    const before = flatOf(lease.set).slice();
    const pass = await trainer.forward(randomBatch(config, [8]));
    await trainer.backward(pass, { logprobs: pass.logprobs.map(() => -1) });
    await trainer.step({ learningRate: 0.1 });
    await weights.settled();
    expect(flatOf(lease.set)).toEqual(before);
    expect(flatOf(weights.training)).not.toEqual(before);
  });

  test.each([
    ['one merged set, if the sampler gives up its weights before it adopts', true, [2, 2, 2, 2]],
    ['two merged sets, if it samples until then', false, [2, 3, 3, 3]],
  ])('needs the base and %s', async (_, givesUp, expected) => {
    const { trainer, weights } = await newTrainer(config);
    weights.publish();
    let sampler = await weights.leasePublished().lease();
    const counts = [];
    for (let step = 0; step < 4; step++) {
      const pass = await trainer.forward(randomBatch(config, [8], step));
      await trainer.backward(pass, { logprobs: pass.logprobs.map(() => -1) });
      await trainer.step({ learningRate: 0.01 });
      weights.publish();
      const next = weights.leasePublished();
      if (givesUp) sampler.release();
      const lease = await next.lease();
      sampler.release();
      sampler = lease;
      counts.push(weights.count);
    }
    expect(counts).toEqual(expected);
  });

  test('keeps a base of bfloat16 numbers in half the memory and merges in place, to the same bits', async () => {
    const rounded = livelyWeights(config);
    const bits = new Uint32Array(rounded.buffer);
    bits.forEach((value, i) => (bits[i] = value & 0xffff0000));
    const plan = planAdapters(config, { rank: 3, alpha: 6 });
    const initial = initialAdapters(adapterTargets(config, plan), 7);
    const steps = async (sharesBase: boolean) => {
      const weights = new WeightBuffers(cpu(), config, rounded.slice());
      const parts = { config, plan, weights, initial: initial.slice(), sharesBase };
      const adapters = await Adapters.open(parts);
      const trainer = new OnnxTrainer({ config, weights, trainable: adapters });
      open.push(trainer, adapters);
      for (let step = 0; step < 3; step++) {
        const pass = await trainer.forward(randomBatch(config, [8], step));
        await trainer.backward(pass, { logprobs: pass.logprobs.map(() => -1) });
        await trainer.step({ learningRate: 0.01 });
      }
      await weights.settled();
      expect(adapters.base.all()).toEqual(rounded);
      return { merged: flatOf(weights.training), count: weights.count };
    };
    const [packed, plain] = [await steps(false), await steps(true)];
    expect(packed.merged).toEqual(plain.merged);
    expect(packed.merged).not.toEqual(rounded);
    expect([packed.count, plain.count]).toEqual([1, 2]);
  });

  test('learns: the log-probability of a sequence rises', async () => {
    const { trainer } = await newTrainer(config);
    const batch = randomBatch(config, [16]);
    const mean = (pass: ForwardPass) =>
      pass.logprobs.reduce((a, b) => a + b, 0) / pass.logprobs.length;
    const before = await trainer.forward(batch);
    for (let i = 0; i < 15; i++) {
      const pass = await trainer.forward(batch);
      await trainer.backward(pass, {
        logprobs: pass.logprobs.map(() => -1 / pass.logprobs.length),
      });
      await trainer.step({ learningRate: 3e-2 });
    }
    expect(mean(await trainer.forward(batch))).toBeGreaterThan(mean(before) + 1);
  });
});

test('the same steps give the same bits', async () => {
  const [one, two] = [await trainedSteps(config, 3), await trainedSteps(config, 3)];
  expect(one.norms).toEqual(two.norms);
  expect(flatOf(one.adapters.set)).toEqual(flatOf(two.adapters.set));
  expect(flatOf(one.weights.training)).toEqual(flatOf(two.weights.training));
});

test('a head that runs in parts leaves its own gradient out', async () => {
  const large: ModelConfig = { ...config, vocabSize: 40_000, layers: 1 };
  const { trainer, adapters, weights } = await newTrainer(large, {
    lively: true,
    targetModules: ['q_proj'],
  });
  await adapters.merge();
  const batch = randomBatch(large, [9, 30]);
  const pass = await trainer.forward(batch);
  const gradients = { logprobs: weightGradients(pass).logprobs };
  await trainer.backward(pass, gradients);
  const whole = new OnnxTrainer({
    config: large,
    weights: new WeightBuffers(cpu(), large, flatOf(weights.training).slice()),
  });
  open.push(whole);
  await whole.backward(pass, gradients);
  const q = parameterSpecs(large).find(({ name }) => name.endsWith('q_proj.weight'))!;
  const [a] = adapters.specs;
  const b = adapters.specs[1]!;
  const expected = Float64Array.from({ length: b.size }, (_, at) => {
    const [o, r] = [Math.floor(at / 3), at % 3];
    let sum = 0;
    for (let i = 0; i < 16; i++)
      sum +=
        2 *
        flatOf(whole.gradient!)[q.offset + o * 16 + i]! *
        flatOf(adapters.set)[a!.offset + r * 16 + i]!;
    return sum;
  });
  expect(
    relativeError(flatOf(trainer.gradient!).subarray(b.offset, b.offset + b.size), expected),
  ).toBeLessThan(1e-4);
});
