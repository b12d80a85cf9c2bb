import { fakeEngine } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import { createSampling } from './sampling.js';

/** Opens an engine at the second attempt. */
function openAtSecond() {
  let attempts = 0;
  return async () => {
    attempts += 1;
    if (attempts === 1) throw new Error('not enough memory');
    return fakeEngine();
  };
}

it('samples after the model could not be opened for an earlier request', async () => {
  const sampling = createSampling(openAtSecond());
  const work = {
    weights: undefined,
    prompt: Int32Array.of(1),
    options: { maxTokens: 2, seed: 0 },
    promptLogprobs: false,
    topPromptLogprobs: 0,
  };
  const { signal } = new AbortController();
  await expect(sampling.sample(work, signal)).rejects.toThrow('not enough memory');
  expect((await sampling.sample(work, signal)).sequences).toHaveLength(1);
  await sampling.close();
});
