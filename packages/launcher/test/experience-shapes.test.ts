/**
 * Merged calls have the same gradient over all weights of the embedded engine as separate calls.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createAlgorithm, type AlgorithmOptions } from '@trinity-rft/algorithm';
import {
  buildCharTokenizer,
  chatTemplates,
  createChatFormat,
  loadTokenizer,
  type ChatFormat,
} from '@trinity-rft/chat';
import {
  type ChatMessage,
  type Experience,
  createRandom,
  deriveSeed,
  withFields,
} from '@trinity-rft/core';
import type { Engine } from '@trinity-rft/core/engine';
import { mergeCalls } from '@trinity-rft/core/internal';
import { createOnnxEngine } from '@trinity-rft/engine-onnx';
import { createRolloutModel } from '@trinity-rft/model';
import { testRuntime } from '@trinity-rft/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createModel } from '../src/create-model.js';
import { difference, gradientOf, norm } from './support/gradient.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-shapes-'));
const modelPath = path.join(root, 'model');
let engine: Engine;
let format: ChatFormat;
let calls: readonly Experience[];

beforeAll(async () => {
  const tokenizer = buildCharTokenizer({
    characters: Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).concat('\n'),
    words: ['system', 'user', 'assistant'],
    specialTokens: ['<|im_start|>'],
    eosToken: '<|im_end|>',
    chatTemplate: chatTemplates.chatml,
  });
  const config = { hiddenSize: 32, layers: 2, heads: 2, maxPositions: 256 };
  await createModel({ directory: modelPath, tokenizer, config, seed: 1, initializerRange: 0.1 });
  engine = await createOnnxEngine({ modelPath, reference: true, threads: 1 });
  await engine.sampler.adopt({ kind: 'checkpoint', directory: modelPath }, 0);
  format = createChatFormat({ tokenizer: await loadTokenizer(modelPath) });
  calls = (await Promise.all([0, 1, 2, 3, 4, 5].map(rollout))).flat();
});
afterAll(async () => {
  await engine?.close();
  rmSync(root, { recursive: true, force: true });
});

/**
 * A run of two to four turns. Every second run returns to its first answer, so that its tree has
 * two branches.
 */
async function rollout(index: number): Promise<readonly Experience[]> {
  const random = createRandom(deriveSeed(3, 'rewards', index));
  const model = createRolloutModel({
    sampler: engine.sampler,
    format,
    modelPath: 'tiny',
    defaults: { temperature: 0.8, maxTokens: 12 },
    seedFor: (call) => 100 * index + call,
    runtime: testRuntime(),
  });
  const messages: ChatMessage[] = [{ role: 'user', content: `task ${index % 2}` }];
  const ask = async (text: string): Promise<void> => {
    const [answer] = await model.chat(messages);
    messages.push(
      { role: 'assistant', content: answer!.responseText },
      { role: 'user', content: text },
    );
  };
  for (let turn = 0; turn < 2 + (index % 3); turn++) await ask(`go on ${turn}`);
  if (index % 2 === 1) {
    messages.splice(2, Infinity, { role: 'user', content: 'again' });
    await ask('');
  }
  const [reward, other] = [random.next(), random.next()];
  return model.extractExperiencesFromHistory().map((experience, step) =>
    withFields(experience, {
      eid: { ...experience.eid, batch: 1, task: index % 2, run: index >> 1 },
      // Another policy than the one that sampled: ratios away from 1, some of them clipped.
      logprobs: experience.logprobs.map((logprob, t) => logprob * (1 + 0.3 * Math.sin(t + index))),
      reward: step % 2 === 0 ? reward : other,
    }),
  );
}

const stepOf = (options: AlgorithmOptions, experiences: readonly Experience[]) =>
  gradientOf({
    engine,
    modelPath,
    directory: root,
    algorithm: createAlgorithm(options),
    experiences,
  });

const aggregations = [
  'token-mean',
  'seq-mean-token-sum',
  'seq-mean-token-mean',
  'seq-mean-token-sum-norm',
] as const;
const advantageFns = [
  { name: 'grpo' },
  { name: 'step_wise_grpo' },
  { name: 'step_wise_grpo', args: { enableStepNorm: true } },
] as const;
const cases = advantageFns.flatMap((advantageFn) =>
  aggregations.map((lossAggMode) => [advantageFn, lossAggMode] as const),
);

describe('trajectories', () => {
  it('hold the sampled tokens of all calls once, in fewer tokens', () => {
    const { experiences, metrics } = mergeCalls(calls);
    const sampled = (rows: readonly Experience[]): number =>
      rows.reduce((sum, { actionMask }) => sum + actionMask.reduce((a, b) => a + b, 0), 0);
    expect(sampled(experiences)).toBe(sampled(calls));
    expect(metrics).toMatchObject({
      merged: calls.length - experiences.length,
      'split/branched': 3,
    });
    expect(experiences).toHaveLength(9);
    expect(
      metrics['tokens_saved']! / (metrics['tokens']! + metrics['tokens_saved']!),
    ).toBeGreaterThan(0.4);
  });

  it.each(cases)(
    'give the gradient and loss of their calls: %o, %s',
    async (advantageFn, lossAggMode) => {
      const options: AlgorithmOptions = {
        advantageFn,
        policyLossFn: { name: 'ppo', args: { enableSequenceMasking: true } },
        klLossFn: { name: 'k3', args: { klCoef: 0.1 } },
        entropyLossFn: { name: 'default', args: { entropyCoef: 0.01 } },
        lossAggMode,
      };
      const { experiences } = createAlgorithm(options).advantage!(calls);
      const step = await stepOf(options, experiences);
      const trajectory = await stepOf(options, mergeCalls(experiences).experiences);
      expect(norm(step.gradient)).toBeGreaterThan(1e-3);
      expect(difference(step.gradient, trajectory.gradient)).toBeLessThan(1e-6);
      for (const name of [
        'actor/final_loss',
        'actor/pg_loss',
        'actor/pg_clipfrac',
        'actor/kl_loss',
        'critic/advantages/max',
      ])
        expect(trajectory.metrics[name]).toBeCloseTo(step.metrics[name]!, 6);
    },
  );
});
