import { EngineError } from '@trinity-rft/core';
import type { Sampler } from '@trinity-rft/core/engine';
import { expect, it } from 'vitest';
import { watchSampler } from './engine.js';

const greedy = { maxTokens: 1, seed: 0 };
const row = { tokens: new Int32Array(2), promptLength: 1, temperature: 1 };
const calls: Readonly<Record<string, (sampler: Sampler) => Promise<unknown> | undefined>> = {
  adopt: (sampler) => sampler.adopt({ kind: 'published' }, 1),
  sample: (sampler) => sampler.sample(new Int32Array(1), greedy),
  score: (sampler) => sampler.score?.(row),
};

it.each(Object.entries(calls))('reports a dead engine at %s', async (_, call) => {
  const failure = new AbortController();
  const fail = async (code: string): Promise<void> => {
    const error = new EngineError('It failed.', { code });
    const failing = () => Promise.reject(error);
    const inner = { maxModelLen: 8, policyVersion: 0 };
    const sampler = { ...inner, adopt: failing, sample: failing, score: failing };
    await expect(call(watchSampler(sampler, failure))).rejects.toBe(error);
  };
  await fail('CHECKPOINT_MISSING');
  expect(failure.signal.aborted).toBe(false);
  await fail('ENGINE_WORKER_DIED');
  expect(failure.signal.reason).toMatchObject({ code: 'ENGINE_WORKER_DIED' });
});
