import { createExperience, createRandom } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import type { ModelOutputs } from './forward.js';
import { packBatch } from './pack.js';
import { assertSamePolicy } from './same-policy.js';

const random = createRandom(3);
const normal = (): number =>
  Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());

interface Drawn {
  readonly rows?: number;
  readonly tokens?: number;
  readonly policyVersion?: number;
  /** Log-probability of the trainer minus that of the sampler, in nats. */
  readonly difference: () => number;
}

/**
 * Calls `assertSamePolicy` at train step 5, with tokens that a sampler drew with the given policy
 * version. The trainer's log-probabilities differ from the sampler's by `difference()`.
 */
function check({ rows = 8, tokens = 32, policyVersion = 4, difference }: Drawn) {
  const experiences = Array.from({ length: rows }, (_, task) =>
    createExperience({
      eid: { batch: 5, task },
      tokens: Array.from({ length: tokens + 1 }, (_, i) => i),
      promptLength: 1,
      logprobs: Array.from({ length: tokens }, () => -random.next() * 3),
      policyVersion,
    }),
  );
  const batch = packBatch(experiences);
  const currentLogprobs = batch.static.oldLogprobs.map((value) => value + difference());
  return assertSamePolicy(batch, { currentLogprobs } as ModelOutputs, 5);
}

it('accepts what bfloat16 rounds, in any number of tokens', () => {
  for (const tokens of [1, 4, 16, 64, 256])
    for (const scale of [0.004, 0.02]) {
      const metrics = check({ tokens, difference: () => normal() * scale });
      expect(metrics['training/rollout_ess']).toBeGreaterThan(0.99);
    }
});

it('accepts a sampler that draws from a part of the vocabulary, however small', () => {
  expect(check({ difference: () => -8 * random.next() })).toEqual({
    'training/rollout_ess': expect.any(Number),
  });
  const part = check({ difference: () => Math.log(0.85 + 0.15 * random.next()) });
  expect(part['training/rollout_ess']).toBeGreaterThan(0.95);
});

it('refuses another model, naming figures and step', () => {
  const other = (): number => -2.4 + 3 * normal();
  expect(() => check({ difference: other })).toThrow(
    /of 256 tokens that it sampled with policy version 4, log-probabilities differ by [23]\.\d\d nats on average .*Nothing was trained in step 5/,
  );
  expect(() => check({ rows: 2, difference: other })).toThrow('of 64 tokens');
});

it('says nothing of tokens of earlier weights', () => {
  expect(check({ policyVersion: 3, difference: () => -5 * random.next() })).toEqual({});
});
