/** Contract cases: sampling with `sample`. */
import { ModelError, CancelledError } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { largestDifference, logprobsOf, sampleOne, type EngineFixture } from './fixture.js';

export function samplingCases({ withEngine, prompt, tolerance, vocabSize }: EngineFixture): void {
  describe('sample', () => {
    it('reproduces a seed and varies with it', () =>
      withEngine(async (engine) => {
        const [a, b, c] = await Promise.all(
          [7, 7, 8].map((seed) => sampleOne(engine, prompt(4), { maxTokens: 24, seed })),
        );
        expect([...a!.tokens]).toEqual([...b!.tokens]);
        expect(largestDifference(a!.logprobs, b!.logprobs)).toBeLessThanOrEqual(tolerance);
        expect([...a!.tokens]).not.toEqual([...c!.tokens]);
      }));

    it('draws a choice from (seed, index), whatever else is in the batch', () =>
      withEngine(async (engine) => {
        const options = { maxTokens: 16, seed: 3 };
        const alone = await sampleOne(engine, prompt(4), options);
        const [group] = await Promise.all([
          engine.sampler.sample(prompt(4), { ...options, n: 3 }),
          engine.sampler.sample(prompt(7), { maxTokens: 30, seed: 99, n: 2 }),
        ]);
        expect(group).toHaveLength(3);
        expect([...group[0]!.tokens]).toEqual([...alone.tokens]);
        expect(largestDifference(group[0]!.logprobs, alone.logprobs)).toBeLessThanOrEqual(
          tolerance,
        );
        expect(new Set(group.map(({ tokens }) => tokens.join())).size).toBe(3);
      }));

    it('reports the log-probabilities that the trainer computes', () =>
      withEngine(async (engine) => {
        for (const temperature of engine.capabilities.anyTemperature ? [1, 0.7] : [1]) {
          const { tokens, logprobs } = await sampleOne(engine, prompt(5), {
            maxTokens: 20,
            seed: 5,
            temperature,
          });
          const scored = await logprobsOf(engine, {
            rows: [
              { tokens: Int32Array.of(...prompt(5), ...tokens), promptLength: 5, temperature },
            ],
          });
          expect(largestDifference(logprobs, scored)).toBeLessThanOrEqual(tolerance);
        }
      }));

    it('stops at maxTokens', () =>
      withEngine(async (engine) => {
        for (const maxTokens of [1, 6]) {
          const sequence = await sampleOne(engine, prompt(3), { maxTokens, seed: 1 });
          expect(sequence.tokens).toHaveLength(maxTokens);
          expect(sequence.logprobs).toHaveLength(maxTokens);
          expect(sequence.stopReason).toBe('length');
        }
      }));

    it('ends with the first stop id, which it includes', () =>
      withEngine(async (engine) => {
        const free = await sampleOne(engine, prompt(3), { maxTokens: 16, seed: 2 });
        const stop = free.tokens[5]!;
        const stopped = await sampleOne(engine, prompt(3), {
          maxTokens: 16,
          seed: 2,
          stopTokenIds: [stop],
        });
        expect([...stopped.tokens]).toEqual([
          ...free.tokens.slice(0, free.tokens.indexOf(stop) + 1),
        ]);
        expect(stopped.stopReason).toBe('stop');
      }));

    it('draws no stop id before minTokens', ({ skip }) =>
      withEngine(async (engine) => {
        skip(!engine.capabilities.samplingControls, 'the engine has no such option');
        const stopTokenIds = Array.from({ length: vocabSize - 1 }, (_, id) => id + 1);
        const { tokens, stopReason } = await sampleOne(engine, prompt(3), {
          maxTokens: 64,
          minTokens: 6,
          seed: 2,
          stopTokenIds,
        });
        expect([...tokens.slice(0, 6)]).toEqual([0, 0, 0, 0, 0, 0]);
        expect(stopReason).toBe('stop');
      }));

    it('is greedy at temperature 0 and with topK 1', () =>
      withEngine(async (engine) => {
        const greedy = await Promise.all(
          [1, 2].map((seed) =>
            sampleOne(engine, prompt(4), { maxTokens: 12, temperature: 0, seed }),
          ),
        );
        const only = await sampleOne(engine, prompt(4), { maxTokens: 12, topK: 1, seed: 3 });
        expect([...greedy[0]!.tokens]).toEqual([...greedy[1]!.tokens]);
        expect([...only.tokens]).toEqual([...greedy[0]!.tokens]);
        expect(largestDifference(only.logprobs, new Float32Array(12))).toBeLessThanOrEqual(
          tolerance,
        );
      }));

    it('draws from the top-k only, and renormalises', ({ skip }) =>
      withEngine(async (engine) => {
        skip(!engine.capabilities.samplingControls, 'the engine reports no alternatives');
        const { tokens, logprobs, topLogprobs } = await sampleOne(engine, prompt(4), {
          maxTokens: 12,
          topK: 3,
          topLogprobs: 3,
          seed: 4,
        });
        for (const [i, entries] of topLogprobs!.entries()) {
          expect(entries.map(({ token }) => token)).toContain(tokens[i]);
          expect(entries.find(({ token }) => token === tokens[i])!.logprob).toBeCloseTo(
            logprobs[i]!,
            4,
          );
          expect(entries.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0)).toBeCloseTo(
            1,
            4,
          );
        }
      }));

    it('keeps the smallest set of tokens that reaches topP', ({ skip }) =>
      withEngine(async (engine) => {
        skip(!engine.capabilities.samplingControls, 'the engine reports no alternatives');
        const wide = await sampleOne(engine, prompt(4), {
          maxTokens: 1,
          topLogprobs: vocabSize > 64 ? 64 : vocabSize,
          seed: 1,
        });
        const best = wide.topLogprobs![0]![0]!;
        const narrow = await Promise.all(
          [1, 2, 3, 4].map((seed) =>
            sampleOne(engine, prompt(4), {
              maxTokens: 1,
              topP: Math.exp(best.logprob) * 0.9,
              seed,
            }),
          ),
        );
        expect(narrow.map(({ tokens }) => tokens[0])).toEqual([
          best.token,
          best.token,
          best.token,
          best.token,
        ]);
        expect(narrow[0]!.logprobs[0]).toBeCloseTo(0, 5);
      }));

    it('rejects a prompt that leaves no room with status 400', () =>
      withEngine(async ({ sampler }) => {
        const full = new Int32Array(sampler.maxModelLen);
        const rejection = sampler.sample(full, { maxTokens: 4, seed: 1 });
        await expect(rejection).rejects.toBeInstanceOf(ModelError);
        await expect(rejection).rejects.toMatchObject({ status: 400 });
      }));

    it('never exceeds maxModelLen', () =>
      withEngine(async (engine) => {
        const { maxModelLen } = engine.sampler;
        const nearly = new Int32Array(maxModelLen - 2).fill(1);
        const sequence = await sampleOne(engine, nearly, { maxTokens: 50, seed: 1 });
        expect(sequence.tokens).toHaveLength(2);
        expect(sequence.stopReason).toBe('length');
      }));

    it('rejects when the signal aborts, and continues with the others', () =>
      withEngine(async (engine) => {
        const controller = new AbortController();
        const other = sampleOne(engine, prompt(4), { maxTokens: 8, seed: 1 });
        const aborted = engine.sampler.sample(
          prompt(4),
          { maxTokens: engine.sampler.maxModelLen - 4, seed: 1 },
          controller.signal,
        );
        controller.abort(new Error('enough'));
        await expect(aborted).rejects.toBeInstanceOf(CancelledError);
        await expect(
          engine.sampler.sample(prompt(4), { maxTokens: 2, seed: 1 }, controller.signal),
        ).rejects.toBeInstanceOf(CancelledError);
        expect((await other).tokens).toHaveLength(8);
      }));
  });
}
