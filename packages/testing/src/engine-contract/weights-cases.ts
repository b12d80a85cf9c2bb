/** Contract cases: publishing, saving and loading weights. */
import { TrinityError, CheckpointError } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import {
  largestDifference,
  logprobsOf,
  sampleOne,
  trainOnce,
  withFolder,
  type EngineFixture,
} from './fixture.js';

const published = { kind: 'published' } as const;

export function weightsCases({
  withEngine,
  batch,
  prompt,
  tolerance,
  learningRate,
  inFlight: weightsInFlight,
}: EngineFixture): void {
  const options = { maxTokens: 24, seed: 11 };

  describe('publish and adopt', () => {
    it('starts at version -1 and takes the given version', () =>
      withEngine(async ({ sampler, trainer }) => {
        expect(sampler.policyVersion).toBe(-1);
        await trainer.publish(0);
        await sampler.adopt(published, 0);
        expect(sampler.policyVersion).toBe(0);
        expect((await sampler.sample(prompt(3), options))[0]!.policyVersion).toBe(0);
      }));

    it('samples what was published, whatever the trainer does afterwards, until the next adopt', () =>
      withEngine(async (engine) => {
        await engine.trainer.publish(1);
        await engine.sampler.adopt(published, 1);
        const before = await sampleOne(engine, prompt(3), options);
        for (let i = 0; i < 4; i++) await trainOnce(engine, batch(), learningRate * 3);
        const meanwhile = await sampleOne(engine, prompt(3), options);
        await engine.trainer.publish(2);
        const unadopted = await sampleOne(engine, prompt(3), options);
        for (const sequence of [meanwhile, unadopted]) {
          expect([...sequence.tokens]).toEqual([...before.tokens]);
          expect(largestDifference(sequence.logprobs, before.logprobs)).toBeLessThanOrEqual(
            tolerance,
          );
          expect(sequence.policyVersion).toBe(1);
        }
        await engine.sampler.adopt(published, 2);
        const after = await sampleOne(engine, prompt(3), options);
        expect(after.policyVersion).toBe(2);
        const scored = await logprobsOf(engine, {
          rows: [
            {
              tokens: Int32Array.of(...prompt(3), ...after.tokens),
              promptLength: 3,
              temperature: 1,
            },
          ],
        });
        expect(largestDifference(after.logprobs, scored)).toBeLessThanOrEqual(tolerance);
      }));

    it('lets sequences in flight finish on the weights they started with', ({ skip }) =>
      withEngine(async (engine) => {
        skip(weightsInFlight === 'replaced', 'they go on with the new weights');
        await engine.trainer.publish(1);
        await engine.sampler.adopt(published, 1);
        const alone = await sampleOne(engine, prompt(3), options);
        await trainOnce(engine, batch(), learningRate * 3);
        await engine.trainer.publish(2);
        const inFlight = sampleOne(engine, prompt(3), options);
        await engine.sampler.adopt(published, 2);
        expect(await inFlight).toMatchObject({ policyVersion: 1 });
        expect([...(await inFlight).tokens]).toEqual([...alone.tokens]);
      }));
  });

  describe('save and load', () => {
    it('continues bit for bit', () =>
      withFolder(async (directory) => {
        const uninterrupted = await withEngine(async (engine) => {
          for (let i = 0; i < 2; i++) await trainOnce(engine, batch(), learningRate);
          await engine.trainer.save(directory, { optimizer: true });
          const { stats } = await trainOnce(engine, batch(), learningRate);
          return {
            step: stats.step,
            gradNorm: stats.gradNorm,
            logprobs: await logprobsOf(engine, batch()),
          };
        });
        const resumed = await withEngine(async (engine) => {
          await engine.trainer.load(directory);
          const { stats } = await trainOnce(engine, batch(), learningRate);
          return {
            step: stats.step,
            gradNorm: stats.gradNorm,
            logprobs: await logprobsOf(engine, batch()),
          };
        });
        expect(resumed).toEqual(uninterrupted);
      }));

    it('starts the moments at zero without the optimizer', () =>
      withFolder(async (directory) => {
        const saved = await withEngine(async (engine) => {
          await trainOnce(engine, batch(), learningRate);
          await engine.trainer.save(directory, { optimizer: false });
          return logprobsOf(engine, batch());
        });
        await withEngine(async (engine) => {
          await engine.trainer.load(directory);
          expect(await logprobsOf(engine, batch())).toEqual(saved);
          expect((await trainOnce(engine, batch(), learningRate)).stats.step).toBe(1);
        });
      }));

    it('drops a gradient that was accumulated before loading', () =>
      withFolder((directory) =>
        withEngine(async ({ trainer }) => {
          await trainer.save(directory, { optimizer: true });
          const pass = await trainer.forward(batch());
          await trainer.backward(pass, { logprobs: pass.logprobs.map(() => 1) });
          await trainer.load(directory);
          expect((await trainer.step({ learningRate, weightDecay: 0 })).gradNorm).toBe(0);
        }),
      ));

    it('hands a checkpoint to the sampler', () =>
      withFolder(async (directory) => {
        const scored = await withEngine(async (engine) => {
          for (let i = 0; i < 3; i++) await trainOnce(engine, batch(), learningRate);
          await engine.trainer.save(directory, { optimizer: false });
          return logprobsOf(engine, batch());
        });
        await withEngine(async (engine) => {
          await engine.sampler.adopt({ kind: 'checkpoint', directory }, 7);
          const sequence = await sampleOne(engine, prompt(3), options);
          expect(sequence.policyVersion).toBe(7);
          await engine.trainer.load(directory);
          expect(await logprobsOf(engine, batch())).toEqual(scored);
          const again = await logprobsOf(engine, {
            rows: [
              {
                tokens: Int32Array.of(...prompt(3), ...sequence.tokens),
                promptLength: 3,
                temperature: 1,
              },
            ],
          });
          expect(largestDifference(sequence.logprobs, again)).toBeLessThanOrEqual(tolerance);
        });
      }));

    it('rejects a folder that is not a checkpoint and keeps its weights', () =>
      withFolder((directory) =>
        withEngine(async (engine) => {
          const before = await logprobsOf(engine, batch());
          await expect(engine.trainer.load(directory)).rejects.toBeInstanceOf(CheckpointError);
          await expect(
            engine.sampler.adopt({ kind: 'checkpoint', directory }, 1),
          ).rejects.toBeInstanceOf(CheckpointError);
          expect(await logprobsOf(engine, batch())).toEqual(before);
          expect(engine.sampler.policyVersion).toBe(-1);
        }),
      ));
  });

  describe('the end', () => {
    it('reports finite numbers about itself', () =>
      withEngine(async (engine) => {
        await trainOnce(engine, batch(), learningRate);
        expect(
          Object.values(await engine.trainer.stats()).filter((value) => !Number.isFinite(value)),
        ).toEqual([]);
      }));

    it('can be closed twice and rejects work afterwards', () =>
      withEngine(async (engine) => {
        await engine.close();
        await engine.close();
        const rejections = await Promise.allSettled([
          engine.trainer.forward(batch()),
          engine.sampler.sample(prompt(3), options),
        ]);
        expect(
          rejections.map(
            (rejection) => rejection.status === 'rejected' && TrinityError.is(rejection.reason),
          ),
        ).toEqual([true, true]);
      }));
  });
}
