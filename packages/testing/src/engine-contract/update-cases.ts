/**
 * Contract cases: the size of an AdamW update, for engines and critics.
 * @see Loshchilov & Hutter, arXiv:1711.05101, algorithm 2
 */
import type { OptimizerOptions, StepStats } from '@trinity-rft/core/engine';
import { describe, expect, it } from 'vitest';
import { largestDifference } from './fixture.js';

/** A model of which only the outputs for one batch are known: log-probabilities or values. */
interface Learner {
  readonly outputs: () => Promise<ArrayLike<number>>;
  /** Adds the gradient `scale` * {@link slope} of the outputs. */
  readonly backward: (scale: number) => Promise<void>;
  readonly step: (options: OptimizerOptions) => Promise<StepStats>;
}

/** Gradient of output number `index`. */
export const slope = (index: number): number => ((index % 5) - 2.5) / 16;

interface UpdateFixture {
  /** Opens a model, which has the same weights every time, passes it to `work`, and closes it. */
  readonly withLearner: <T>(work: (learner: Learner) => Promise<T>) => Promise<T>;
  readonly tolerance: number;
  readonly learningRate: number;
}

export function updateCases({ withLearner, tolerance, learningRate }: UpdateFixture): void {
  const plain = { betas: [0, 0], weightDecay: 0, clipGradNorm: 0, epsilon: 1e-12 } as const;
  /** Largest difference between outputs after equal updates. */
  const accuracy = tolerance * 10;
  /** Accumulates a gradient, and makes an update. */
  const learn = async (
    { backward, step }: Learner,
    scale: number,
    options: OptimizerOptions,
  ): Promise<StepStats> => {
    await backward(scale);
    return step(options);
  };

  /**
   * Changes sum(slope * output) by about -sign * size, with an epsilon that is far larger than the
   * gradient.
   */
  const move = async (learner: Learner, sign: number, size: number): Promise<void> => {
    const epsilon = 1000;
    const { gradNorm } = await learn(learner, sign, { ...plain, learningRate: 0 });
    const rate = (size * epsilon) / gradNorm ** 2;
    await learn(learner, sign, { ...plain, epsilon, learningRate: rate });
  };

  describe('size of an update', () => {
    it('is learningRate / epsilon times the gradient, if epsilon is far larger', async () => {
      // In nats or values: large against rounding, small against the curvature of the outputs.
      const size = 0.25;
      /** Change of sum(slope * output) over an update that should make it -sign * size. */
      const change = (sign: number) =>
        withLearner(async (learner) => {
          const sum = async (): Promise<number> =>
            Array.from(await learner.outputs()).reduce(
              (all, value, i) => all + slope(i) * value,
              0,
            );
          const before = await sum();
          await move(learner, sign, size);
          return (await sum()) - before;
        });
      // The sum changes by gradNorm^2 per unit of its gradient. Second-order terms cancel.
      const ratio = ((await change(-1)) - (await change(1))) / (2 * size);
      expect(Math.abs(ratio - 1)).toBeLessThan(0.2);
    });

    it.each([[[0, 0.5]], [[0.5, 0]]] as const)(
      'averages gradients and their squares with betas %j',
      async (betas) => {
        const [first, second] = betas;
        // Moments of the gradients 4g and g, corrected for their start at 0, divided by g and g^2.
        const mean = (4 * first + 1) / (1 + first);
        const square = (16 * second + 1) / (1 + second);
        const two = await withLearner(async (learner) => {
          await learn(learner, 4, { ...plain, betas, learningRate: 0 });
          await learn(learner, 1, { ...plain, betas, learningRate });
          return learner.outputs();
        });
        const one = await withLearner(async (learner) => {
          const rate = (learningRate * mean) / Math.sqrt(square);
          await learn(learner, 1, { ...plain, learningRate: rate });
          return learner.outputs();
        });
        expect(largestDifference(two, one)).toBeLessThanOrEqual(accuracy);
      },
    );

    it('shrinks weights by learningRate * weightDecay, whatever the gradient', async () => {
      /** Outputs after updates with gradient 0 and these learning rates and decays. */
      const decayed = (...updates: readonly (readonly [rate: number, decay: number])[]) =>
        withLearner(async (learner) => {
          // Large against `accuracy`, because the decay may act on the update alone.
          await move(learner, 1, 0.25 + 8 * accuracy);
          for (const [rate, weightDecay] of updates)
            await learn(learner, 0, { ...plain, learningRate: rate, weightDecay });
          return learner.outputs();
        });
      const two = await decayed([0.1, 5], [0.05, 10]);
      expect(largestDifference(two, await decayed([0.25, 3]))).toBeLessThanOrEqual(accuracy);
      expect(largestDifference(two, await decayed())).toBeGreaterThan(accuracy);
    });
  });
}
