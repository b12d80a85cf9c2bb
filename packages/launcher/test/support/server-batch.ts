/** A few rows that engines on real servers learn, and functions to compare the results. */
import { createRandom } from '@trinity-rft/core';
import type { Engine, TokenBatch } from '@trinity-rft/core/engine';

const random = createRandom(9);
const rowOf = (length: number, promptLength: number) => ({
  tokens: Int32Array.from({ length }, () => random.integer(14)),
  promptLength,
  temperature: 1,
});
export const batch: TokenBatch = { rows: [rowOf(9, 3), rowOf(5, 1), rowOf(12, 4)] };
/** Gradients of both signs, so that the weights of the cross-entropy have no special sum. */
export const gradients = Float32Array.from({ length: 18 }, (_, i) => ((i % 5) - 2.2) / 7);

export async function learn({ trainer }: Pick<Engine, 'trainer'>, steps: number): Promise<void> {
  for (let i = 0; i < steps; i++) {
    const pass = await trainer.forward(batch);
    await trainer.backward(pass, { logprobs: pass.logprobs.map(() => -1 / 18) });
    await trainer.step({ learningRate: 0.02, weightDecay: 0 });
  }
}

export const logprobsOf = async ({ trainer }: Engine): Promise<readonly number[]> => [
  ...(await trainer.forward(batch)).logprobs,
];

export const difference = (a: readonly number[], b: readonly number[]): number =>
  Math.max(...a.map((value, i) => Math.abs(value - (b[i] ?? Number.NaN))));
