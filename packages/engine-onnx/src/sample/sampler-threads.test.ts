import { expect, it } from 'vitest';

import { completeConfig } from '../storage/new-model.js';
import { planSamplerThreads } from './sampler-threads.js';

const shape = { vocabSize: 128, layers: 4, heads: 4, kvHeads: 2 };

it('puts samplers of a small model side by side, and all threads into the operators of a large one', () => {
  const small = completeConfig({ ...shape, hiddenSize: 128 });
  const large = completeConfig({ ...shape, hiddenSize: 1024 });
  expect([planSamplerThreads(small, 1), planSamplerThreads(small, 8)]).toEqual([
    { samplers: 1, threads: 1 },
    { samplers: 8, threads: 1 },
  ]);
  expect(planSamplerThreads(large, 8)).toEqual({ samplers: 1, threads: 8 });
  expect([planSamplerThreads(small, 8, 1), planSamplerThreads(small, 8, 3)]).toEqual([
    { samplers: 1, threads: 8 },
    { samplers: 3, threads: 2 },
  ]);
});
