/** Contract cases: saving and loading the weights of a critic, and closing it. */
import { TrinityError, CheckpointError } from '@trinity-rft/core';
import type { ValueEngine } from '@trinity-rft/core/engine';
import { describe, expect, it } from 'vitest';
import { withFolder } from '../engine-contract/fixture.js';
import { fitOnce, valuesOf, type ValueFixture } from './fixture.js';

export function valueWeightsCases({ withCritic, batch, learningRate }: ValueFixture): void {
  const fitAndLook = async (critic: ValueEngine): Promise<unknown> => {
    const { stats } = await fitOnce(critic, batch(), learningRate);
    return { stats, values: await valuesOf(critic, batch()) };
  };

  describe('save and load', () => {
    it('continues bit for bit', () =>
      withFolder(async (directory) => {
        const uninterrupted = await withCritic(async (critic) => {
          for (let i = 0; i < 2; i++) await fitOnce(critic, batch(), learningRate);
          await critic.save(directory, { optimizer: true });
          return fitAndLook(critic);
        });
        const resumed = await withCritic(async (critic) => {
          await critic.load(directory);
          return fitAndLook(critic);
        });
        expect(resumed).toEqual(uninterrupted);
      }));

    it('starts the moments at zero without the optimizer', () =>
      withFolder(async (directory) => {
        const saved = await withCritic(async (critic) => {
          await fitOnce(critic, batch(), learningRate);
          await critic.save(directory, { optimizer: false });
          return valuesOf(critic, batch());
        });
        await withCritic(async (critic) => {
          await critic.load(directory);
          expect(await valuesOf(critic, batch())).toEqual(saved);
          expect((await fitOnce(critic, batch(), learningRate)).stats.step).toBe(1);
        });
      }));

    it('drops a gradient that was accumulated before loading', () =>
      withFolder((directory) =>
        withCritic(async (critic) => {
          await critic.save(directory, { optimizer: true });
          const pass = await critic.forward(batch());
          await critic.backward(
            pass,
            pass.values.map(() => 1),
          );
          await critic.load(directory);
          expect((await critic.step({ learningRate, weightDecay: 0 })).gradNorm).toBe(0);
        }),
      ));

    it('rejects a folder that is not a checkpoint and keeps its weights', () =>
      withFolder((directory) =>
        withCritic(async (critic) => {
          const before = await valuesOf(critic, batch());
          await expect(critic.load(directory)).rejects.toBeInstanceOf(CheckpointError);
          expect(await valuesOf(critic, batch())).toEqual(before);
        }),
      ));
  });

  describe('the end', () => {
    it('reports finite numbers about itself', () =>
      withCritic(async (critic) => {
        await fitOnce(critic, batch(), learningRate);
        expect(
          Object.values(await critic.stats()).filter((value) => !Number.isFinite(value)),
        ).toEqual([]);
      }));

    it('can be closed twice and rejects work afterwards', () =>
      withCritic(async (critic) => {
        await critic.close();
        await critic.close();
        const [rejection] = await Promise.allSettled([critic.forward(batch())]);
        expect(rejection?.status === 'rejected' && TrinityError.is(rejection.reason)).toBe(true);
      }));
  });
}
