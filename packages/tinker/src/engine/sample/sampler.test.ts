import { silentLogger, systemClock } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import type { Connection } from '../http/connection.js';
import type { Calls } from '../remote/calls.js';
import { holdSampling } from './handle.js';
import { createSampler } from './sampler.js';
import { deliverWeights } from './weights.js';

/** A sampler whose requests wait for `answer`, with the ids of freed weights. */
function samplerOn() {
  const freed: string[] = [];
  const used: string[] = [];
  const waiting: (() => void)[] = [];
  const handleOf = (id: string) =>
    holdSampling(id, { logger: silentLogger, release: async () => void freed.push(id) });
  const calls = {
    submit: async (_: string, body: { sampling_session_id: string }) => {
      const id = body.sampling_session_id;
      used.push(freed.includes(id) ? `${id} after it was freed` : id);
      return id;
    },
    bytes: () => new Promise((_, reject) => waiting.push(() => reject(new Error('No answer.')))),
  } as unknown as Calls;
  const sampler = createSampler({
    calls,
    limits: { vocabSize: 16, maxModelLen: 64 },
    tokenBytes: undefined,
    weightsOf: async (source) => handleOf(source.kind === 'checkpoint' ? source.directory : ''),
    initialWeights: async () => handleOf('initial'),
  });
  const answer = async (ended: Promise<unknown>): Promise<void> => {
    const timer = setInterval(() => waiting.splice(0).forEach((end) => end()), 1);
    await ended;
    clearInterval(timer);
  };
  const adopt = (directory: string) => sampler.adopt({ kind: 'checkpoint', directory }, 1);
  return { sampler, adopt, answer, freed, used };
}

const prompt = Int32Array.of(1, 2);
const row = { tokens: prompt, promptLength: 1, temperature: 1 };

it.each(['sample', 'score'])(
  'weights are kept for calls of %s that wait for a place',
  async (of) => {
    const { sampler, adopt, answer, freed, used } = samplerOn();
    await adopt('one');
    const ends = Promise.allSettled(
      Array.from({ length: 300 }, async () =>
        of === 'sample' ? sampler.sample(prompt, { maxTokens: 1, seed: 1 }) : sampler.score!(row),
      ),
    );
    await adopt('two');
    expect(freed).toEqual([]);
    await answer(ends);
    expect(new Set(used)).toEqual(new Set(['one']));
    expect(freed).toEqual(['one']);
  },
);

it('the initial weights are freed once others are adopted and no request uses them', async () => {
  const { sampler, adopt, answer, freed } = samplerOn();
  const ends = Promise.allSettled([sampler.score!(row)]);
  await systemClock.sleep(5);
  await adopt('one');
  await systemClock.sleep(5);
  expect(freed).toEqual([]);
  await answer(ends);
  expect(freed).toEqual(['initial']);
});

it('an empty stop text is refused', async () => {
  const asked = samplerOn().sampler.sample(prompt, { maxTokens: 1, seed: 1, stop: ['END', ''] });
  await expect(asked).rejects.toThrow('A stop text is empty; expected at least one character.');
});

it('a copy whose weights cannot be loaded is unloaded', async () => {
  const unloaded: string[] = [];
  const calls = {
    ask: async () => ({ model_id: 'copy', request_id: 'created' }),
    submit: async (verb: string) => {
      if (verb === 'load_weights') throw new Error('The disk is full.');
      unloaded.push(verb);
      return verb;
    },
    result: async () => ({ model_id: 'copy' }),
    failures: () => 0,
  } as unknown as Calls;
  const session = { id: 's', nextModel: () => 0, nextSampler: () => 0, close: () => undefined };
  const { ofCheckpoint } = deliverWeights({
    context: { calls, session, clock: systemClock, logger: silentLogger, placeMs: 0 },
    connection: {} as Connection,
    model: { baseModel: 'b', lora: { rank: 4 } },
    sampling: 'live',
  });
  const failed = ofCheckpoint({ weights: 'tinker://m/weights/a', sampler: '' });
  await expect(failed).rejects.toThrow('The disk is full.');
  expect(unloaded).toEqual(['unload_model']);
});
