/** Property: the result of a request, to the last bit, depends only on weights, prompt, options and seed. */
import type { SampledSequence, SamplingOptions } from '@trinity-rft/core/engine';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  createTestSampler,
  type TestSampler,
  type TestSamplerOptions,
} from '../../test/support/sampling.js';

interface Ask {
  readonly prompt: readonly number[];
  readonly options: SamplingOptions;
}

/** Requests whose tokens are drawn in the graph, and requests whose options require drawing in TypeScript. */
function asks(vocabSize: number): fc.Arbitrary<Ask> {
  const token = fc.nat(vocabSize - 1);
  const filters = fc.oneof(
    { weight: 3, arbitrary: fc.constant({}) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        { topP: 0.8 },
        { topK: 4 },
        { temperature: 0 },
        { temperature: 0.5, topLogprobs: 2 },
      ),
    },
  );
  return fc
    .tuple(
      fc.array(token, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 20 }),
      fc.nat(),
      fc.integer({ min: 1, max: 3 }),
      filters,
    )
    .map(([prompt, maxTokens, seed, n, filter]) => ({
      prompt,
      options: { maxTokens, seed, n, ...filter },
    }));
}

const bits = (sequences: readonly SampledSequence[]): unknown =>
  sequences.map(({ tokens, logprobs }) => ({
    tokens: [...tokens],
    logprobs: [...new Uint32Array(logprobs.buffer, 0, logprobs.length)],
  }));

async function compare(sampler: TestSampler, batch: readonly Ask[]): Promise<void> {
  const together = await Promise.all(
    batch.map(({ prompt, options }) => sampler.sample(prompt, options)),
  );
  for (const [i, { prompt, options }] of batch.entries()) {
    expect(bits(await sampler.sample(prompt, options))).toEqual(bits(together[i]!));
  }
}

const convolutions = {
  layers: 4,
  convTaps: 3,
  layerTraits: [{ mixer: 'conv' }, { mixer: 'conv' }, {}, { mixer: 'conv' }],
} as const;
const deltas = {
  layers: 4,
  convTaps: 4,
  delta: { keyHeads: 2, keyDim: 8, valueHeads: 4, valueDim: 4 },
  layerTraits: [{ mixer: 'delta' }, { mixer: 'delta' }, { mixer: 'delta' }, {}],
} as const;

/** Shapes whose matrix products are divided differently for different numbers of rows (see row-window.ts). */
const models: readonly (TestSamplerOptions & { readonly name: string })[] = [
  {
    name: 'the quickstart shape',
    config: { vocabSize: 16, hiddenSize: 64, heads: 4, kvHeads: 4, intermediateSize: 192 },
  },
  {
    name: 'hidden 128, two threads',
    threads: 2,
    config: { vocabSize: 128, hiddenSize: 128, heads: 4, kvHeads: 2, intermediateSize: 384 },
  },
  {
    name: 'hidden 96, one key head, two threads',
    threads: 2,
    config: { vocabSize: 48, hiddenSize: 96, heads: 3, kvHeads: 1, intermediateSize: 288 },
  },
  {
    name: 'hidden 160, two threads',
    threads: 2,
    config: {
      vocabSize: 300,
      hiddenSize: 160,
      heads: 2,
      kvHeads: 1,
      headDim: 128,
      intermediateSize: 512,
    },
  },
  {
    name: 'llama, hidden 320, vocabulary 1024',
    threads: 2,
    config: { family: 'llama', layers: 1, vocabSize: 1024, hiddenSize: 320, heads: 5, kvHeads: 5 },
  },
  {
    name: 'layers that remember a state of a row',
    config: convolutions,
  },
  {
    name: 'layers with the gated delta rule',
    config: deltas,
  },
];

describe('batch composition', () => {
  it.for(models)('changes no bit of a result: $name', { timeout: 240_000 }, async (model) => {
    const sampler = createTestSampler(model);
    await fc.assert(
      fc.asyncProperty(
        fc.array(asks(sampler.config.vocabSize), { minLength: 2, maxLength: 8 }),
        (batch) => compare(sampler, batch),
      ),
      { numRuns: 3 },
    );
    await sampler.close();
  });

  it('changes no bit when a batch is larger than one run takes', async () => {
    const sampler = createTestSampler({ ...models[1]!, maxBatchSize: 256 });
    const ask = { prompt: [1, 2, 3], options: { maxTokens: 3, seed: 5, n: 2 } };
    const alone = bits(await sampler.sample(ask.prompt, ask.options));
    const crowd = Array.from({ length: 140 }, (_, i) =>
      sampler.sample([i % 100, 7], { maxTokens: 3, seed: i }),
    );
    expect(bits(await sampler.sample(ask.prompt, ask.options))).toEqual(alone);
    await Promise.all(crowd);
    await sampler.close();
  });

  it.for([
    { name: 'attention', config: {} },
    { name: 'convolutions', config: convolutions },
    { name: 'the gated delta rule', config: deltas },
  ])(
    'changes no bit when rows and memory are scarce, so that requests wait and choices start at different times ($name)',
    async ({ config }) => {
      const ask = { prompt: [3, 1, 4, 1, 5], options: { maxTokens: 30, seed: 9, n: 5 } };
      const others = Array.from({ length: 6 }, (_, i) => ({
        prompt: [i + 1, 2],
        options: { maxTokens: 5 + 9 * i, seed: i, n: 3 },
      }));
      const results: unknown[] = [];
      for (const limits of [{}, { maxBatchSize: 3 }, { cacheBytes: 60_000 }]) {
        const sampler = createTestSampler({ ...limits, config });
        const crowd = others.map(({ prompt, options }) => sampler.sample(prompt, options));
        results.push(bits(await sampler.sample(ask.prompt, ask.options)));
        await Promise.all(crowd);
        await sampler.close();
      }
      expect(results[1]).toEqual(results[0]);
      expect(results[2]).toEqual(results[0]);
    },
  );
});
