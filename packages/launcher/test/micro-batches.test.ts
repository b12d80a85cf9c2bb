/**
 * Losses are normalised over the whole optimizer batch: how an engine cuts it into micro-batches
 * does not change the gradient.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createAlgorithm, type AlgorithmOptions } from '@trinity-rft/algorithm';
import { buildCharTokenizer } from '@trinity-rft/chat';
import { createExperience, type Experience, createRandom, withFields } from '@trinity-rft/core';
import type { Engine } from '@trinity-rft/core/engine';
import { createOnnxCritic, createOnnxEngine } from '@trinity-rft/engine-onnx';
import { packBatch } from '@trinity-rft/trainer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createModel } from '../src/create-model.js';
import { difference, gradientOf, norm } from './support/gradient.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-micro-'));
const modelPath = path.join(root, 'model');
/** Memory budgets in bytes: for one row at a time, a few rows at a time, and all rows at once. */
const budgets = [1, 600_000, 2 ** 28] as const;
let engines: readonly Engine[];

beforeAll(async () => {
  const tokenizer = buildCharTokenizer({
    characters: 'abcdefghijklmnopqrstuvwxyz',
    eosToken: '<|im_end|>',
  });
  const config = { hiddenSize: 32, layers: 2, heads: 2, maxPositions: 64 };
  await createModel({ directory: modelPath, tokenizer, config, seed: 1, initializerRange: 0.1 });
  engines = await Promise.all(
    budgets.map((memoryBudgetBytes) =>
      createOnnxEngine({ modelPath, reference: true, threads: 1, memoryBudgetBytes }),
    ),
  );
});
afterAll(async () => {
  for (const engine of engines ?? []) await engine.close();
  rmSync(root, { recursive: true, force: true });
});

/**
 * Twelve rows of very different lengths, with masks, advantages of both signs and ratios on both
 * sides of the clip.
 */
const experiences = ((): readonly Experience[] => {
  const random = createRandom(5);
  const pick = (n: number): number => Math.floor(random.next() * n);
  return Array.from({ length: 12 }, (_, run) => {
    const [promptLength, length] = [1 + pick(4), 2 + pick(run % 3 === 0 ? 40 : 8)];
    const experience = createExperience({
      eid: { batch: 1, task: run >> 2, run: run & 3 },
      tokens: Array.from({ length: promptLength + length }, () => pick(26)),
      promptLength,
      logprobs: Array.from({ length }, () => -3 - random.next()),
      actionMask: Array.from({ length }, () => random.next() < 0.8),
      policyVersion: 0,
      temperature: 1,
      reward: random.next(),
    });
    return withFields(experience, {
      advantages: experience.logprobs.map((_, t) =>
        experience.actionMask[t] ? random.next() - 0.5 : 0,
      ),
    });
  });
})();

const criticLoss = createAlgorithm({
  advantageFn: { name: 'ppo' },
  policyLossFn: { name: 'ppo' },
}).valueLoss!;
/** AdamW whose epsilon dwarfs the gradient: weights move in proportion to it. */
const plainDescent = {
  learningRate: 1e6,
  epsilon: 1e6,
  betas: [0, 0],
  weightDecay: 0,
  clipGradNorm: 0,
} as const;

const aggregations = [
  'token-mean',
  'seq-mean-token-sum',
  'seq-mean-token-mean',
  'seq-mean-token-sum-norm',
] as const;

describe('the gradient of a batch', () => {
  it.each(aggregations)(
    'is the same however many micro-batches it takes: %s',
    async (lossAggMode) => {
      const options: AlgorithmOptions = {
        advantageFn: { name: 'grpo' },
        policyLossFn: { name: 'ppo' },
        klLossFn: { name: 'k3', args: { klCoef: 0.1 } },
        entropyLossFn: { name: 'default', args: { entropyCoef: 0.01 } },
        lossAggMode,
      };
      const algorithm = createAlgorithm(options);
      const steps = [];
      for (const engine of engines)
        steps.push(
          await gradientOf({ engine, modelPath, directory: root, algorithm, experiences }),
        );
      const [rows, few, whole] = steps;
      expect(norm(whole!.gradient)).toBeGreaterThan(1e-3);
      expect(difference(whole!.gradient, few!.gradient)).toBeLessThan(1e-5);
      expect(difference(whole!.gradient, rows!.gradient)).toBeLessThan(1e-5);
      for (const name of [
        'actor/final_loss',
        'actor/pg_loss',
        'actor/kl_loss',
        'actor/entropy_loss',
        'actor/grad_norm',
      ])
        expect(rows!.metrics[name]).toBeCloseTo(whole!.metrics[name]!, 5);
      const counts = steps.map(({ stats }) => stats['perf/backward_micro_batches']!);
      expect(counts[0]).toBe(experiences.length);
      expect(counts[1]!).toBeLessThan(counts[0]!);
      expect(counts[2]!).toBeLessThan(counts[1]!);
    },
  );

  it('is the same for the values of a critic', async () => {
    const moved: Float32Array[] = [];
    const counts: number[] = [];
    for (const memoryBudgetBytes of budgets) {
      const critic = await createOnnxCritic({ modelPath, threads: 1, memoryBudgetBytes });
      const { tokens, static: batch } = packBatch(experiences);
      // Head and body take turns: a head of zeros gives the body no gradient.
      for (const _ of [1, 2]) {
        const pass = await critic.forward(tokens);
        const returns = pass.values.map((value, t) => value + Math.sin(t));
        await critic.backward(
          pass,
          criticLoss({ ...batch, values: pass.values, oldValues: pass.values, returns }).gradValues,
        );
        await critic.step(plainDescent);
      }
      moved.push((await critic.forward(tokens)).values);
      counts.push((await critic.stats())['perf/backward_micro_batches']!);
      await critic.close();
    }
    expect(norm(moved[2]!)).toBeGreaterThan(1e-3);
    expect(difference(moved[2]!, moved[0]!)).toBeLessThan(1e-4);
    expect(difference(moved[2]!, moved[1]!)).toBeLessThan(1e-4);
    expect(counts[0]).toBe(2 * experiences.length);
    expect(counts[2]!).toBeLessThan(counts[1]!);
  });
});
