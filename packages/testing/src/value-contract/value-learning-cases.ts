/** Contract cases: gradients (`backward`) and optimizer steps (`step`) of a critic. */
import { EngineError } from '@trinity-rft/core';
import type { ValueEngine } from '@trinity-rft/core/engine';
import { describe, expect, it } from 'vitest';
import { largestDifference } from '../engine-contract/fixture.js';
import { slope, updateCases } from '../engine-contract/update-cases.js';
import { fitOnce, valuesOf, type ValueFixture } from './fixture.js';

export function valueLearningCases({
  withCritic,
  batch,
  tolerance,
  learningRate,
}: ValueFixture): void {
  const still = { learningRate, weightDecay: 0 };

  /**
   * Runs one optimizer step after one `backward` call for each of `parts`. The gradient of a call
   * differs between tokens and is scaled by the part.
   */
  const stepWith = async (
    critic: ValueEngine,
    parts: readonly number[],
  ): Promise<{ readonly gradNorm: number; readonly after: number[] }> => {
    const pass = await critic.forward(batch());
    for (const part of parts)
      await critic.backward(
        pass,
        pass.values.map((_, i) => (part * ((i % 5) - 2.5)) / 16),
      );
    const { gradNorm } = await critic.step(still);
    return { gradNorm, after: await valuesOf(critic, batch()) };
  };

  describe('backward and step', () => {
    it('moves the loss down and counts updates', () =>
      withCritic(async (critic) => {
        const losses: number[] = [];
        for (let step = 1; step <= 6; step++) {
          const { loss, stats } = await fitOnce(critic, batch(), learningRate);
          losses.push(loss);
          expect(stats).toMatchObject({ step, skipped: false });
          expect(stats.gradNorm).toBeGreaterThan(0);
        }
        expect(losses[1]).toBeLessThan(losses[0]!);
        expect(losses.at(-1)).toBeLessThan(losses[1]!);
      }));

    it('accumulates: parts of a gradient are worth their sum', async () => {
      const whole = await withCritic((critic) => stepWith(critic, [1]));
      const parts = await withCritic((critic) => stepWith(critic, [0.25, 0.75]));
      expect(parts.gradNorm / whole.gradNorm).toBeCloseTo(1, 4);
      expect(largestDifference(parts.after, whole.after)).toBeLessThanOrEqual(tolerance * 10);
    });

    it('clears the accumulated gradient with every step', () =>
      withCritic(async (critic) => {
        await fitOnce(critic, batch(), 0);
        expect((await critic.step({ ...still, learningRate: 0 })).gradNorm).toBe(0);
      }));

    it('changes nothing when every gradient is zero', () =>
      withCritic(async (critic) => {
        const before = await valuesOf(critic, batch());
        expect(await stepWith(critic, [0])).toEqual({ gradNorm: 0, after: before });
      }));

    it('leaves weights and counter alone when the gradient is not finite, and works afterwards', () =>
      withCritic(async (critic) => {
        const pass = await critic.forward(batch());
        const rejected = await critic
          .backward(
            pass,
            pass.values.map((_, i) => (i === 2 ? NaN : 0.1)),
          )
          .then(
            () => false,
            (error: unknown) => error instanceof EngineError,
          );
        const stats = await critic.step(still);
        expect(rejected || stats.skipped).toBe(true);
        expect(await valuesOf(critic, batch())).toEqual([...pass.values]);
        expect((await fitOnce(critic, batch(), learningRate)).stats.skipped).toBe(false);
        expect(await valuesOf(critic, batch())).not.toEqual([...pass.values]);
      }));

    it('rejects gradients of another length', () =>
      withCritic(async (critic) => {
        await expect(
          critic.backward(await critic.forward(batch()), new Float32Array(3)),
        ).rejects.toBeInstanceOf(EngineError);
      }));
  });

  updateCases({
    tolerance,
    learningRate,
    withLearner: (work) =>
      withCritic((critic) =>
        work({
          outputs: () => valuesOf(critic, batch()),
          backward: async (scale) => {
            const pass = await critic.forward(batch());
            await critic.backward(
              pass,
              pass.values.map((_, i) => scale * slope(i)),
            );
          },
          step: (options) => critic.step(options),
        }),
      ),
  });
}
