import { ModelError, CancelledError, EngineError } from '@trinity-rft/core';
import type { SampledSequence } from '@trinity-rft/core/engine';
import { afterEach, describe, expect, it } from 'vitest';

import {
  createTestSampler,
  type TestSampler,
  type TestSamplerOptions,
} from '../../test/support/sampling.js';
import { initialWeights } from '../model/parameters.js';
import type { SamplingWeights } from './scheduler.js';
import { flatOf } from '../../test/support/runtime.js';

const opened: TestSampler[] = [];
afterEach(() => Promise.all(opened.splice(0).map((sampler) => sampler.close())));

function open(options: TestSamplerOptions = {}): TestSampler {
  const sampler = createTestSampler(options);
  opened.push(sampler);
  return sampler;
}

const letters = 'abcdefghijklmnopqrstuvwxyz012345'.split('');
const textOf = (sequence: SampledSequence): string =>
  Array.from(sequence.tokens, (token) => letters[token]).join('');
const prompt = [1, 2, 3, 4];

/** Other weights for `sampler`, as `version`. */
function otherWeights({ buffers, config }: TestSampler, version: number): SamplingWeights {
  return { ...buffers.leaseCopy(initialWeights(config, 99, { std: 0.15 })), version };
}

describe('a request', () => {
  it('gets n choices from streams of its seed, each with its own end', async () => {
    const sampler = open();
    const choices = await sampler.sample(prompt, {
      maxTokens: 20,
      seed: 3,
      n: 6,
      stopTokenIds: [5, 6, 7],
    });
    const endless = await sampler.sample(prompt, { maxTokens: 20, seed: 3, n: 6 });
    expect(new Set(endless.map(textOf)).size).toBe(6);
    choices.forEach((choice, k) =>
      expect(textOf(endless[k]!).startsWith(textOf(choice))).toBe(true),
    );
    for (const { tokens, logprobs, stopReason } of choices) {
      expect(logprobs).toHaveLength(tokens.length);
      const stops = [...tokens].filter((token) => token >= 5 && token <= 7);
      expect(stops).toHaveLength(stopReason === 'stop' ? 1 : 0);
      expect(stopReason === 'stop' ? tokens.at(-1) : tokens.length).toBe(
        stopReason === 'stop' ? stops[0] : 20,
      );
    }
  });

  it('gets the same tokens from the graph and from TypeScript', async () => {
    const sampler = open();
    const options = { maxTokens: 40, seed: 8, n: 4, temperature: 0.8 };
    const [inGraph, outside] = [
      await sampler.sample(prompt, options),
      await sampler.sample(prompt, { ...options, topLogprobs: 1 }),
    ];
    expect(outside.map(textOf)).toEqual(inGraph.map(textOf));
    expect(outside.map(({ logprobs }) => [...logprobs])).toEqual(
      inGraph.map(({ logprobs }) => [...logprobs]),
    );
  });

  it('may have a prompt of one token, and may fill the model to the brim', async () => {
    const sampler = open({ maxModelLen: 24 });
    const [full] = await sampler.sample([3], { maxTokens: 1000, seed: 1 });
    expect(full).toMatchObject({
      stopReason: 'length',
      tokens: expect.objectContaining({ length: 23 }),
    });
  });

  it('ends with a stop string, also across tokens, but not before minTokens', async () => {
    const sampler = open({ tokens: letters });
    const options = { maxTokens: 60, seed: 4 };
    const [free] = await sampler.sample(prompt, options);
    const pair = textOf(free!).slice(10, 12);
    const first = textOf(free!).indexOf(pair) + 2;
    const [stopped] = await sampler.sample(prompt, { ...options, stop: ['###', pair] });
    expect(textOf(stopped!)).toBe(textOf(free!).slice(0, first));
    expect(stopped).toMatchObject({ stopReason: 'stop', stopString: pair });
    const [late] = await sampler.sample(prompt, { ...options, stop: [pair], minTokens: first + 1 });
    expect(late!.tokens.length).toBeGreaterThan(first);
  });

  it('is answered with the error when its logits are not finite, and the rows serve others afterwards', async () => {
    const sampler = open();
    const options = { maxTokens: 8, seed: 1, n: 3 };
    const healthy = await sampler.sample(prompt, options);
    const embedding = flatOf(sampler.buffers.training);
    const [kept, victim] = [embedding.slice(), 7 * sampler.config.hiddenSize];
    embedding[victim] = NaN;
    const poisoned = sampler.sample([7, 7, 7, 7], options);
    await expect(poisoned).rejects.toBeInstanceOf(EngineError);
    await expect(poisoned).rejects.toThrow(
      'Sampling from policy version 0 gave a log-probability that is not finite: the model computes',
    );
    embedding.set(kept);
    expect((await sampler.sample(prompt, options)).map(textOf)).toEqual(healthy.map(textOf));
  });
});

describe('memory for one response of full length', () => {
  // 512 bytes per position
  const cacheBytes = 2048 * 512;

  it('serves several requests at once that may become longer than they do', async () => {
    let mostRows = 0;
    const sampler = open({
      maxModelLen: 2048,
      cacheBytes,
      wrap: (kernels) => ({
        ...kernels,
        decode: (...given) => {
          mostRows = Math.max(mostRows, given[2]['ids']!.shape[0]!);
          return kernels.decode(...given);
        },
      }),
    });
    const options = { maxTokens: 2000, stopTokenIds: [5, 6, 7] };
    await Promise.all([1, 2, 3, 4].map((seed) => sampler.sample(prompt, { ...options, seed })));
    expect(mostRows).toBe(4);
  });

  it('restarts the newest choices when all become long, and reports each token once', async () => {
    const options = { maxTokens: 500, seed: 3, n: 5 };
    const alone = await open({ maxModelLen: 2048 }).sample(prompt, options);
    let read = 0;
    const scarce = open({
      maxModelLen: 2048,
      cacheBytes,
      wrap: (kernels) => ({
        ...kernels,
        prefill: (...given) => (read++, kernels.prefill(...given)),
      }),
    });
    const reported = alone.map((): number[] => []);
    const first = scarce.submit(prompt, options, (choice, token) => reported[choice]!.push(token));
    const adopted = scarce.scheduler.adopt(() => otherWeights(scarce, 1));
    const later = scarce.sample(prompt, options);
    expect(await first.result).toEqual(alone);
    expect(reported).toEqual(alone.map(({ tokens }) => [...tokens]));
    await adopted;
    expect(read).toBeGreaterThan(1);
    expect((await later).map(({ policyVersion }) => policyVersion)).toEqual([1, 1, 1, 1, 1]);
  });
});

describe('a run that fails', () => {
  it.for(['prefill', 'decode'] as const)(
    'in %s, answers what had begun with its error, and the sampler goes on',
    async (verb) => {
      const error = new EngineError('out of memory');
      let healthy = true;
      const sampler = open({
        wrap: (kernels) => ({
          ...kernels,
          [verb]: (...args: never[]) =>
            healthy
              ? (kernels[verb] as (...a: never[]) => unknown)(...args)
              : Promise.reject(error),
        }),
      });
      const options = { maxTokens: 8, seed: 1 };
      const before = await sampler.sample(prompt, options);
      healthy = false;
      const failed = await Promise.allSettled([
        sampler.sample(prompt, options),
        sampler.sample(prompt, { ...options, n: 3 }),
      ]);
      expect(failed.map((outcome) => outcome.status === 'rejected' && outcome.reason)).toEqual([
        error,
        error,
      ]);
      healthy = true;
      expect((await sampler.sample(prompt, options)).map(textOf)).toEqual(before.map(textOf));
    },
  );
});

describe('giving up', () => {
  it('while the prompt is read frees the prompt, also if reading the next one fails', async () => {
    const error = new CancelledError('enough', { reason: 'aborted' });
    let [read, freed] = [0, 0];
    const sampler = open({
      wrap: (kernels) => ({
        ...kernels,
        prefill: async (...given) => {
          if (++read > 1) throw new EngineError('out of memory');
          const positions = await kernels.prefill(...given);
          positions.keyValues.free = () => void freed++;
          ticket.cancel(error);
          return positions;
        },
      }),
    });
    const ticket = sampler.submit(prompt, { maxTokens: 4, seed: 1 });
    const other = sampler.sample([...prompt, ...prompt], { maxTokens: 4, seed: 1 });
    await expect(ticket.result).rejects.toBe(error);
    await expect(other).rejects.toThrow('out of memory');
    expect(freed).toBe(1);
  });

  it('answers at once, frees the rows, and leaves the others alone', async () => {
    const sampler = open({ maxBatchSize: 4 });
    const options = { maxTokens: 200, seed: 1, n: 4 };
    const [alone] = await sampler.sample(prompt, { maxTokens: 5, seed: 2 });
    const hog = sampler.submit(prompt, options);
    const waiting = sampler.sample(prompt, { maxTokens: 5, seed: 2 });
    const error = new CancelledError('enough', { reason: 'aborted' });
    setTimeout(() => hog.cancel(error), 20);
    await expect(hog.result).rejects.toBe(error);
    expect(textOf((await waiting)[0]!)).toBe(textOf(alone!));
    // 4 rows of 200 tokens would still be running.
    expect(sampler.scheduler.sampledTokens).toBeLessThan(800);
  });

  it('works while a request waits, and after it was answered', async () => {
    const sampler = open({ maxBatchSize: 1 });
    const running = sampler.sample(prompt, { maxTokens: 10, seed: 1 });
    const waiting = sampler.submit(prompt, { maxTokens: 10, seed: 2 });
    const error = new CancelledError('enough', { reason: 'aborted' });
    waiting.cancel(error);
    await expect(waiting.result).rejects.toBe(error);
    await expect(running).resolves.toHaveLength(1);
    waiting.cancel(error);
    await expect(sampler.sample(prompt, { maxTokens: 1, seed: 1 })).resolves.toHaveLength(1);
  });

  it('reaches everything that is open when the sampler closes', async () => {
    const sampler = open({ maxBatchSize: 2 });
    const open_ = [1, 2, 3].map((seed) => sampler.sample(prompt, { maxTokens: 100, seed }));
    const change = sampler.scheduler.adopt(() => otherWeights(sampler, 1));
    const outcomes = Promise.allSettled([...open_, change]);
    const error = new CancelledError('closing', { reason: 'shutdown' });
    await sampler.scheduler.close(error);
    expect(await outcomes).toEqual(
      Array.from({ length: 4 }, () => ({ status: 'rejected', reason: error })),
    );
    await expect(sampler.sample(prompt, { maxTokens: 1, seed: 1 })).rejects.toBe(error);
  });

  it('is what the queue asks for when it is full', async () => {
    const sampler = open({ maxQueue: 2 });
    const accepted = [1, 2].map((seed) => sampler.sample(prompt, { maxTokens: 1, seed }));
    const rejected = sampler.sample(prompt, { maxTokens: 1, seed: 3 });
    await expect(rejected).rejects.toBeInstanceOf(ModelError);
    await expect(rejected).rejects.toMatchObject({ status: 503, retryable: true });
    await expect(Promise.all(accepted)).resolves.toHaveLength(2);
  });
});

describe('new weights', () => {
  it('serve what is asked for after them; what was asked before finishes on the old ones, running or waiting', async () => {
    const sampler = open({ maxBatchSize: 3 });
    const options = { maxTokens: 12, seed: 5, n: 2 };
    const before = await sampler.sample(prompt, options);
    const early = [0, 1, 2].map(() => sampler.sample(prompt, options));
    const adopted = sampler.scheduler.adopt(() => otherWeights(sampler, 1));
    const late = sampler.sample(prompt, options);
    for (const choices of await Promise.all(early)) {
      expect(choices.map(textOf)).toEqual(before.map(textOf));
      expect(choices.map(({ policyVersion }) => policyVersion)).toEqual([0, 0]);
    }
    await adopted;
    const after = await late;
    expect(after.map(({ policyVersion }) => policyVersion)).toEqual([1, 1]);
    expect(after.map(textOf)).not.toEqual(before.map(textOf));
    expect(sampler.scheduler.policyVersion).toBe(1);
  });

  it('are lent to whoever asks while they are written, and not those before them', async () => {
    const sampler = open();
    const written = Promise.withResolvers<void>();
    const adopted = sampler.scheduler.adopt(async (releaseCurrent) => {
      releaseCurrent();
      await written.promise;
      return otherWeights(sampler, 1);
    });
    await new Promise(setImmediate);
    const borrowed = sampler.scheduler.borrow();
    written.resolve();
    await adopted;
    expect((await borrowed).version).toBe(1);
  });

  it('end the sampler if those before them were given up and they cannot be written', async () => {
    const sampler = open();
    const adopted = sampler.scheduler.adopt((releaseCurrent) => {
      releaseCurrent();
      return Promise.reject(new Error('no memory'));
    });
    const after = sampler.sample(prompt, { maxTokens: 2, seed: 1 });
    await expect(adopted).rejects.toThrow('no memory');
    const lost = { code: 'ENGINE_WORKER_DIED' };
    await expect(after).rejects.toMatchObject(lost);
    await expect(sampler.sample(prompt, { maxTokens: 2, seed: 1 })).rejects.toMatchObject(lost);
  });

  it('that cannot be had are rejected, and the old ones stay', async () => {
    const sampler = open();
    const error = new EngineError('no such folder');
    await expect(sampler.scheduler.adopt(() => Promise.reject(error))).rejects.toBe(error);
    expect(sampler.scheduler.policyVersion).toBe(0);
    await expect(sampler.sample(prompt, { maxTokens: 1, seed: 1 })).resolves.toMatchObject([
      { policyVersion: 0 },
    ]);
  });

  it('free the old ones', async () => {
    const sampler = open();
    const events: string[] = [];
    const named = (version: number): SamplingWeights => ({
      ...otherWeights(sampler, version),
      release: () => void events.push(`released ${version}`),
    });
    await Promise.all([
      sampler.scheduler.adopt(() => named(1)),
      sampler.scheduler.adopt(() => named(2)),
    ]);
    expect(events).toEqual(['released 1']);
  });
});
