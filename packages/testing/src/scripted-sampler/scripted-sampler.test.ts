import { ModelError, CancelledError } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../runtime/manual-clock.js';
import { scriptedSampler } from './scripted-sampler.js';

const prompt = Int32Array.of(1, 2, 3);
const options = { maxTokens: 10, seed: 1 };

describe('scriptedSampler', () => {
  it('answers from a list, one reply per choice, and remembers the calls', async () => {
    const sampler = scriptedSampler({ script: [[4, 5], { tokens: [6], logprobs: [-2] }, [7]] });
    const first = await sampler.sample(prompt, { ...options, n: 2 });
    const second = await sampler.sample(prompt, options);
    expect(
      [...first, ...second].map(({ tokens, logprobs }) => [[...tokens], [...logprobs]]),
    ).toEqual([
      [
        [4, 5],
        [-0.25, -0.25],
      ],
      [[6], [-2]],
      [[7], [-0.25]],
    ]);
    expect(sampler.calls.map((call) => [[...call.prompt], call.options.n ?? 1])).toEqual([
      [[1, 2, 3], 2],
      [[1, 2, 3], 1],
    ]);
    await expect(sampler.sample(prompt, options)).rejects.toThrow(
      'needs reply 4, but its script has only 3',
    );
  });

  it('asks a function with the prompt, the options and the place', async () => {
    const sampler = scriptedSampler({
      script: (given, { seed }, { call, choice }) => [given.length, seed, call, choice],
    });
    await sampler.sample(prompt, options);
    const [, second] = await sampler.sample(prompt, { ...options, n: 2 });
    expect([...second!.tokens]).toEqual([3, 1, 1, 1]);
  });

  it('ends where a sampler would: after a stop id, at maxTokens, at the end of the room', async () => {
    const sampler = scriptedSampler({ script: () => [4, 5, 6, 7], maxModelLen: 6 });
    const ends = await Promise.all(
      [{ stopTokenIds: [5] }, { maxTokens: 1 }, {}].map((more) =>
        sampler.sample(prompt, { ...options, ...more }),
      ),
    );
    expect(ends.map(([sequence]) => [sequence!.tokens.length, sequence!.stopReason])).toEqual([
      [2, 'stop'],
      [1, 'length'],
      [3, 'length'],
    ]);
    await expect(sampler.sample(new Int32Array(6), options)).rejects.toMatchObject({
      name: ModelError.name,
      status: 400,
    });
  });

  it('throws what the script says', async () => {
    const error = new ModelError('busy', { status: 503 });
    await expect(scriptedSampler({ script: [error] }).sample(prompt, options)).rejects.toBe(error);
  });

  it('takes its time on the clock it was given, and can be aborted meanwhile', async () => {
    const clock = manualClock();
    const sampler = scriptedSampler({ script: () => [4], delayMs: 20, clock });
    const controller = new AbortController();
    const [aborted, finished] = [
      sampler.sample(prompt, options, controller.signal),
      sampler.sample(prompt, options),
    ];
    await clock.advance(10);
    expect(sampler.inFlight).toBe(2);
    controller.abort();
    await expect(aborted).rejects.toBeInstanceOf(CancelledError);
    await clock.advance(10);
    expect((await finished)[0]!.tokens).toHaveLength(1);
    expect(sampler.inFlight).toBe(0);
    await expect(
      scriptedSampler({ script: [[1]], delayMs: 5 }).sample(prompt, options),
    ).rejects.toThrow('needs a clock');
  });

  it('reports the adopted version at the start of a call', async () => {
    const sampler = scriptedSampler({ script: () => [4] });
    const before = sampler.sample(prompt, options);
    await sampler.adopt({ kind: 'published' }, 3);
    expect((await before)[0]!.policyVersion).toBe(-1);
    expect([
      (await sampler.sample(prompt, options))[0]!.policyVersion,
      sampler.policyVersion,
    ]).toEqual([3, 3]);
  });
});
