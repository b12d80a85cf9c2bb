/** Contract cases: gradients (`backward`) and optimizer steps (`step`). */
import { EngineError } from '@trinity-rft/core';
import type { Engine, StepStats, TokenBatch } from '@trinity-rft/core/engine';
import { describe, expect, it } from 'vitest';
import {
  largestDifference,
  logprobsOf,
  responseTokens,
  trainOnce,
  type EngineFixture,
} from './fixture.js';
import { slope, updateCases } from './update-cases.js';

export function learningCases({ onePass, ...fixture }: EngineFixture): void {
  const { withEngine, batch, tolerance, learningRate } = fixture;
  const still = { learningRate, weightDecay: 0 };
  const uniform = (rows: TokenBatch, value: number): Float32Array =>
    new Float32Array(responseTokens(rows.rows)).fill(value);

  /** Calls `backward` once for each of `gradients`, and then runs one optimizer step. */
  const stepWith = async (
    engine: Engine,
    rows: TokenBatch,
    gradients: readonly Float32Array[],
  ): Promise<{ readonly stats: StepStats; readonly after: number[] }> => {
    const pass = await engine.trainer.forward(rows);
    for (const logprobs of gradients) await engine.trainer.backward(pass, { logprobs });
    const stats = await engine.trainer.step(still);
    return { stats, after: await logprobsOf(engine, batch()) };
  };
  const uneven = (): Float32Array => uniform(batch(), 0).map((_, i) => ((i % 5) - 2.5) / 16);

  /**
   * Runs one optimizer step with the gradient of the PPO loss, which is multiplied by `other` at
   * every fourth token.
   */
  const stepKnown = async (
    { trainer }: Engine,
    passes: 'one pass' | 'two passes',
    other: number,
  ): Promise<{ readonly stats: StepStats; readonly after: number[] }> => {
    const { logprobs: now } = await trainer.forward(batch());
    const oldLogprobs = now.map((value, t) => value + ((t % 3) - 1) / 2);
    const advantages = uneven();
    const expected = { name: 'ppo', advantages, oldLogprobs, low: 0.8, high: 1.2 } as const;
    const pass =
      passes === 'one pass'
        ? await trainer.forwardBackward!(batch(), expected)
        : await trainer.forward(batch());
    const logprobs = pass.logprobs.map((value, t) => {
      const [A, ratio] = [advantages[t]!, Math.exp(value - oldLogprobs[t]!)];
      const isFree = A < 0 ? ratio >= 0.8 : ratio <= 1.2;
      return (isFree ? -A * ratio : 0) * (t % 4 === 1 ? other : 1);
    });
    await trainer.backward(pass, { logprobs });
    const stats = await trainer.step(still);
    return { stats, after: [...(await trainer.forward(batch())).logprobs] };
  };

  describe('backward and step', () => {
    it('moves the loss down', () =>
      withEngine(async (engine) => {
        const losses: number[] = [];
        for (let i = 0; i < 6; i++)
          losses.push((await trainOnce(engine, batch(), learningRate)).loss);
        expect(losses.at(-1)).toBeLessThan(losses[0]!);
        expect(losses[1]).toBeLessThan(losses[0]!);
      }));

    it('counts updates and reports the gradient norm before clipping', () =>
      withEngine(async (engine) => {
        const first = await trainOnce(engine, batch(), learningRate);
        const second = await trainOnce(engine, batch(), learningRate);
        expect([first.stats.step, second.stats.step]).toEqual([1, 2]);
        expect(first.stats.gradNorm).toBeGreaterThan(0);
        expect(first.stats.skipped).toBe(false);
      }));

    it('raises the log-probability of tokens with a negative gradient and lowers the others', () =>
      withEngine(async (engine) => {
        const before = await engine.trainer.forward(batch());
        const signs = before.logprobs.map((_, i) => (i < before.offsets[1]! ? -1 : 1));
        await engine.trainer.backward(before, { logprobs: signs });
        await engine.trainer.step({ ...still, learningRate: learningRate / 10 });
        const after = await logprobsOf(engine, batch());
        const change = after.reduce(
          (sum, logprob, i) => sum + (logprob - before.logprobs[i]!) * signs[i]!,
          0,
        );
        expect(change).toBeLessThan(0);
      }));

    it('accumulates: parts of a gradient are worth their sum', async () => {
      const whole = await withEngine((engine) => stepWith(engine, batch(), [uneven()]));
      const parts = await withEngine((engine) =>
        stepWith(engine, batch(), [uneven().map((g) => g / 4), uneven().map((g) => (g * 3) / 4)]),
      );
      expect(parts.stats.gradNorm / whole.stats.gradNorm).toBeCloseTo(1, 4);
      expect(largestDifference(parts.after, whole.after)).toBeLessThanOrEqual(tolerance * 10);
    });

    it.runIf(onePass).each([
      ['as it is known', 1],
      ['other than it was expected to be, in places', -3],
    ])('takes one pass for a gradient that is known beforehand, also %s', async (_, other) => {
      const two = await withEngine((engine) => stepKnown(engine, 'two passes', other));
      const one = await withEngine((engine) => stepKnown(engine, 'one pass', other));
      expect(one.stats.gradNorm / two.stats.gradNorm).toBeCloseTo(1, 3);
      expect(largestDifference(one.after, two.after)).toBeLessThanOrEqual(tolerance * 10);
    });

    it('clears the accumulated gradient with every step', () =>
      withEngine(async (engine) => {
        await trainOnce(engine, batch(), 0);
        expect((await engine.trainer.step({ ...still, learningRate: 0 })).gradNorm).toBe(0);
      }));

    it('ignores rows whose gradients are all zero', async () => {
      const row = batch().rows[0]!;
      const only = { rows: [row] };
      const padded = { rows: [...batch().rows, row] };
      const gradient = new Float32Array(responseTokens(padded.rows));
      gradient.fill(-0.25, gradient.length - responseTokens([row]));
      const alone = await withEngine((engine) => stepWith(engine, only, [uniform(only, -0.25)]));
      const among = await withEngine((engine) => stepWith(engine, padded, [gradient]));
      expect(among.stats.gradNorm / alone.stats.gradNorm).toBeCloseTo(1, 4);
      expect(largestDifference(among.after, alone.after)).toBeLessThanOrEqual(tolerance * 10);
    });

    it('changes nothing when every gradient is zero', () =>
      withEngine(async (engine) => {
        const before = await logprobsOf(engine, batch());
        const { stats, after } = await stepWith(engine, batch(), [uniform(batch(), 0)]);
        expect(stats.gradNorm).toBe(0);
        expect(after).toEqual(before);
      }));

    it('scales a gradient above the largest norm down to it', async () => {
      const trained = (scales: readonly number[]): Promise<number[]> =>
        withEngine(async (engine) => {
          for (const scale of scales) {
            const pass = await engine.trainer.forward(batch());
            await engine.trainer.backward(pass, { logprobs: uneven().map((g) => g * scale) });
            await engine.trainer.step({ ...still, clipGradNorm: 0.001 });
          }
          return logprobsOf(engine, batch());
        });
      // AdamW ignores a constant factor of the gradients. The factors here differ between steps, so
      // only clipping makes the updates equal.
      expect(
        largestDifference(await trained([100, -10]), await trained([100, -1000])),
      ).toBeLessThanOrEqual(tolerance * 10);
    });

    it('leaves weights and counter alone when the gradient is not finite, and works afterwards', () =>
      withEngine(async (engine) => {
        const before = await logprobsOf(engine, batch());
        const pass = await engine.trainer.forward(batch());
        const gradient = uniform(batch(), -0.1);
        gradient[2] = NaN;
        const rejected = await engine.trainer.backward(pass, { logprobs: gradient }).then(
          () => false,
          (error: unknown) => error instanceof EngineError,
        );
        const stats = await engine.trainer.step(still);
        expect(rejected || stats.skipped).toBe(true);
        expect(await logprobsOf(engine, batch())).toEqual(before);
        expect((await trainOnce(engine, batch(), learningRate)).stats).toMatchObject({
          skipped: false,
        });
        expect(await logprobsOf(engine, batch())).not.toEqual(before);
      }));

    it('differentiates the entropy where it says so', ({ skip }) =>
      withEngine(async (engine) => {
        skip(engine.capabilities.entropyGradient !== 'exact', 'the engine has no entropy gradient');
        const entropyNow = async (): Promise<number> =>
          (await engine.trainer.forward(batch(), { entropy: true })).entropy!.reduce(
            (a, b) => a + b,
            0,
          );
        const before = await entropyNow();
        const pass = await engine.trainer.forward(batch(), { entropy: true });
        await engine.trainer.backward(pass, {
          logprobs: uniform(batch(), 0),
          entropy: uniform(batch(), 1),
        });
        await engine.trainer.step({ ...still, learningRate: learningRate / 3 });
        expect(await entropyNow()).toBeLessThan(before);
      }));

    it('rejects gradients of another length', () =>
      withEngine(async ({ trainer }) => {
        const pass = await trainer.forward(batch());
        await expect(
          trainer.backward(pass, { logprobs: new Float32Array(3) }),
        ).rejects.toBeInstanceOf(EngineError);
      }));
  });

  /** Rows of different temperatures, if the engine knows any but 1. */
  const mixed = (engine: Engine): TokenBatch => ({
    rows: batch().rows.map((row, i) => ({
      ...row,
      temperature: engine.capabilities.anyTemperature ? (i + 1) * 0.3 : 1,
    })),
  });
  updateCases({
    ...fixture,
    withLearner: (work) =>
      withEngine((engine) =>
        work({
          outputs: () => logprobsOf(engine, mixed(engine)),
          backward: async (scale) => {
            const pass = await engine.trainer.forward(mixed(engine));
            const logprobs = pass.logprobs.map((_, i) => scale * slope(i));
            await engine.trainer.backward(pass, { logprobs });
          },
          step: (options) => engine.trainer.step(options),
        }),
      ),
  });
}
