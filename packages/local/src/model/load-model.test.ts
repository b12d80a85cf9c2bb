/** Tests of a local model over a sampler that records its calls. */
import { fileURLToPath } from 'node:url';
import type { Sampler, SamplingOptions } from '@trinity-rft/core/engine';
import { expect, it } from 'vitest';
import { findModel } from '../place/find-model.js';
import { modelOver, type LocalModel } from './load-model.js';

const practice = fileURLToPath(
  new URL('../../../../apps/create/templates/practice/model', import.meta.url),
);
const question = [{ role: 'user' as const, content: '1+1' }];

interface Recorded {
  readonly model: LocalModel;
  /** Sampling options of each call. */
  readonly sampled: SamplingOptions[];
}

async function recordedModel(): Promise<Recorded> {
  const sampled: SamplingOptions[] = [];
  const sampler: Sampler = {
    policyVersion: 0,
    maxModelLen: 512,
    adopt: () => Promise.resolve(),
    sample: (_prompt, options) => {
      sampled.push(options);
      const one = {
        tokens: Int32Array.of(5, 6),
        logprobs: new Float32Array(2),
        stopReason: 'length' as const,
        policyVersion: 0,
      };
      return Promise.resolve(Array.from({ length: options.n ?? 1 }, () => one));
    },
  };
  const model = await modelOver(sampler, await findModel(practice), { name: 'm', seed: 7 });
  return { model, sampled };
}

it('samples concurrent calls with the seeds of consecutive calls', async () => {
  const [concurrent, consecutive] = [await recordedModel(), await recordedModel()];
  await Promise.all(Array.from({ length: 8 }, () => concurrent.model.chat(question)));
  for (let call = 0; call < 8; call++) await consecutive.model.chat(question);
  const seeds = ({ sampled }: Recorded): number[] => sampled.map(({ seed }) => seed);
  expect(new Set(seeds(concurrent)).size).toBe(8);
  expect(seeds(concurrent)).toEqual(seeds(consecutive));
});
