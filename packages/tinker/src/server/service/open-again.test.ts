import { systemClock } from '@trinity-rft/core';
import { fakeEngine } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import { createFutures } from './futures.js';
import { createSampling } from './sampling.js';
import { createTrainingRun } from './training-run.js';

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

it('trains after the model could not be opened for an earlier request', async () => {
  const futures = createFutures({ clock: systemClock });
  const facts = {
    id: 'run',
    sessionId: 'session',
    rank: 0,
    alpha: 1,
    targetModules: 'all-linear',
    seed: 0,
    userMetadata: {},
  } as const;
  const run = createTrainingRun({ facts, open: openAtSecond(), futures, now: () => 0 });
  const ask = (seqId: number) => {
    const done = async () => ({ kind: 'json', body: { seqId } }) as const;
    return futures.result(run.submit({ seqId, body: String(seqId) }, done), 5000);
  };
  expect(await ask(1)).toMatchObject({ body: { error: 'not enough memory' } });
  expect(await ask(2)).toMatchObject({ body: { seqId: 2 } });
  await run.close();
  futures.close();
});
