import { describe, expect, test } from 'vitest';
import { tinyModels } from '../../test/support/models.js';
import { initialWeights, parameterCount, parameterSpecs } from './parameters.js';
import type { ArraySet } from '../runtime/graph-runtime.js';
import { WeightBuffers } from './weights.js';
import { cpu, flatOf } from '../../test/support/runtime.js';

const config = tinyModels.qwen2;
const count = parameterCount(config);
const fresh = () => new WeightBuffers(cpu(), config, new Float32Array(count).fill(1));
const bump = (weights: WeightBuffers) => weights.update(flatOf(weights.training).map((x) => x + 1));

test('a step writes in place while the weights are not leased', () => {
  const weights = fresh();
  const flat = flatOf(weights.training);
  bump(weights);
  expect(flatOf(weights.training)).toBe(flat);
  expect(flat[0]).toBe(2);
  expect(weights.count).toBe(1);
});

test('a step moves away from published weights, and publishing again frees them', async () => {
  const weights = fresh();
  const published = async () => flatOf((await weights.leasePublished().lease()).set);
  weights.publish();
  bump(weights);
  expect((await published())[0]).toBe(1);
  weights.publish();
  expect((await published())[0]).toBe(2);
  expect(await published()).toBe(flatOf(weights.training));
});

test('training and publishing in turn needs two sets, and three while a sampler stays behind', async () => {
  const weights = fresh();
  for (let i = 0; i < 5; i++) {
    weights.publish();
    bump(weights);
    bump(weights);
  }
  expect(weights.count).toBe(2);
  const behind = await weights.leasePublished().lease();
  const value = flatOf(behind.set)[0];
  for (let i = 0; i < 5; i++) {
    weights.publish();
    bump(weights);
  }
  expect(weights.count).toBe(3);
  expect(flatOf(behind.set)[0]).toBe(value);
  behind.release();
  behind.release();
  for (let i = 0; i < 5; i++) bump(weights);
  expect(weights.count).toBe(3);
});

test('adopting before anything was published is rejected', () => {
  expect(() => fresh().leasePublished()).toThrow('publish a version before adopting');
});

test('weights of another size are rejected with both sizes', () => {
  expect(() => new WeightBuffers(cpu(), config, new Float32Array(3))).toThrow(
    `have 3 numbers, but the model has ${count} parameters`,
  );
});

test('parameters tile the flat array, and new weights depend on the seed only', () => {
  const specs = parameterSpecs(config);
  specs.forEach((spec, i) =>
    expect(spec.offset).toBe(i === 0 ? 0 : specs[i - 1]!.offset + specs[i - 1]!.size),
  );
  expect(initialWeights(config, 7)).toEqual(initialWeights(config, 7));
  expect(initialWeights(config, 7)).not.toEqual(initialWeights(config, 8));
});

test('new matrices have the wanted spread, norms are 1 and biases 0', () => {
  const wide = { ...config, hiddenSize: 128, intermediateSize: 256 };
  const flat = initialWeights(wide, 1);
  const spread = (name: string) => {
    const { offset, size } = parameterSpecs(wide).find((spec) => spec.name === name)!;
    return Math.sqrt(
      flat.subarray(offset, offset + size).reduce((sum, x) => sum + x * x, 0) / size,
    );
  };
  expect(spread('model.layers.1.mlp.up_proj.weight')).toBeCloseTo(0.02, 3);
  expect(spread('model.layers.1.mlp.down_proj.weight')).toBeCloseTo(0.02 / 2, 3);
  expect(spread('model.norm.weight')).toBe(1);
  expect(spread('model.layers.0.self_attn.q_proj.bias')).toBe(0);
});

test('weights are rewritten in place unless somebody uses them, who waits until they are whole', async () => {
  const weights = fresh();
  const flat = flatOf(weights.training);
  const gate = Promise.withResolvers<void>();
  const rewriting = weights.rewrite(async (from, to) => {
    expect(to).toBe(from);
    flatOf(to).fill(1);
    await gate.promise;
    flatOf(to).fill(2);
  });
  const leased = weights.settled().then(() => weights.lease());
  gate.resolve();
  await rewriting;
  const lease = await leased;
  expect(flatOf(lease.set)).toBe(flat);
  await weights.rewrite(async (_, to) => void flatOf(to).fill(3));
  expect([flatOf(lease.set)[0], flatOf(weights.training)[0]]).toEqual([2, 3]);
});

describe('a failed write', () => {
  /** Buffers with leased training weights, and the number of sets in memory. */
  const observed = () => {
    const runtime = cpu();
    const alive = new Set<ArraySet>();
    const create = runtime.set.bind(runtime);
    runtime.set = (specs, flat) => {
      const set = create(specs, flat);
      alive.add(set);
      return Object.assign(set, { free: () => alive.delete(set) });
    };
    const weights = new WeightBuffers(runtime, config, new Float32Array(count));
    const lease = weights.lease();
    return { weights, lease, sets: () => [alive.size, weights.count] };
  };
  const fail = () => Promise.reject(new Error('no memory'));
  const tooLong = new Float32Array(count + 1);

  test.each<[string, (weights: WeightBuffers) => Promise<unknown>]>([
    ['of a step', (weights) => weights.rewrite(fail)],
    ['over a spare set', (weights) => weights.rewrite(fail, weights.takeSet())],
    ['that is tried again', (weights) => (weights.rewriteLater(fail), weights.settled())],
    ['of given numbers', async (weights) => weights.update(tooLong)],
    ['of a checkpoint', async (weights) => weights.leaseCopy(tooLong)],
  ])('keeps one set for the next one: %s', async (_, write) => {
    const { weights, lease, sets } = observed();
    const { training } = weights;
    for (let i = 0; i < 3; i++)
      await expect(write(weights)).rejects.toThrow(/no memory|out of bounds|too large/);
    expect(weights.training).toBe(training);
    expect(sets()).toEqual([2, 2]);
    lease.release();
    await expect(weights.rewrite(fail, weights.takeSet())).rejects.toThrow('no memory');
    expect(sets()).toEqual([2, 2]);
  });
});

describe('weights that are written later', () => {
  const plusOne = async (from: ArraySet, to: ArraySet) =>
    flatOf(from).forEach((x, i) => (flatOf(to)[i] = x + 1));
  const adopted = async (weights: WeightBuffers) => {
    weights.publish();
    return weights.leasePublished().lease();
  };

  test('need one set, if their user gives the old ones up before', async () => {
    const weights = fresh();
    let used = await adopted(weights);
    for (let step = 1; step < 4; step++) {
      weights.rewriteLater(plusOne);
      weights.publish();
      const next = weights.leasePublished();
      expect([next.isWritten, flatOf(used.set)[0]]).toEqual([false, step]);
      used.release();
      used = await next.lease();
      expect([weights.count, flatOf(used.set)[0]]).toEqual([1, step + 1]);
    }
  });

  test('leave the old ones to those who still use them', async () => {
    const weights = fresh();
    const used = await adopted(weights);
    weights.rewriteLater(plusOne);
    await weights.settled();
    expect([flatOf(weights.training)[0], flatOf(used.set)[0], weights.count]).toEqual([2, 1, 2]);
  });

  test('are those that were published when they were asked for, whatever is published later', async () => {
    const weights = fresh();
    weights.rewriteLater(plusOne);
    weights.publish();
    const asked = weights.leasePublished();
    await weights.settled();
    weights.rewriteLater(plusOne);
    weights.publish();
    const later = weights.leasePublished();
    expect(flatOf((await later.lease()).set)[0]).toBe(3);
    expect(flatOf((await asked.lease()).set)[0]).toBe(2);
  });

  test('are written once for all who wait, and again after a failure', async () => {
    const weights = fresh();
    let tries = 0;
    weights.rewriteLater(async (from, to) => {
      if (++tries === 1) throw new Error('no memory');
      await plusOne(from, to);
    });
    weights.publish();
    await expect(weights.leasePublished().lease()).rejects.toThrow('no memory');
    const [a, b] = [weights.leasePublished(), weights.leasePublished()];
    const [first, second] = await Promise.all([a.lease(), b.lease(), weights.settled()]);
    expect([flatOf(first.set)[0], flatOf(second.set)[0], tries]).toEqual([2, 2, 2]);
  });
});
