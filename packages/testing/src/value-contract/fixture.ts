/** What the cases of the critic's contract share: opening critics, returns to learn, and a step. */
import type { StepStats, TokenBatch, ValueEngine } from '@trinity-rft/core';
import { contractRows } from '../engine-contract/fixture.js';

/** How the contract reaches a critic. */
export interface ValueEngineContract {
  /**
   * A fresh critic; every call gives the same initial weights, and values that differ from token to
   * token.
   */
  readonly open: () => Promise<ValueEngine>;
  /** Ids from 0 to this (exclusive) are used. At least 8. */
  readonly vocabSize: number;
  /** Largest difference between two ways to compute the same value. @default 1e-5 */
  readonly tolerance?: number;
  /** With which a few AdamW updates improve the loss. @default 0.003 */
  readonly learningRate?: number;
}

/** What the cases work with. */
export interface ValueFixture extends Required<ValueEngineContract> {
  /** Opens a critic, and closes it afterwards whatever happens. */
  readonly withCritic: <T>(work: (critic: ValueEngine) => Promise<T>) => Promise<T>;
  /** Three rows of different length; the prompts have 3, 1 and 4 tokens. */
  readonly batch: (temperature?: number) => TokenBatch;
}

export function valueFixture(contract: ValueEngineContract): ValueFixture {
  return {
    tolerance: 1e-5,
    learningRate: 0.003,
    ...contract,
    withCritic: async (work) => {
      const critic = await contract.open();
      try {
        return await work(critic);
      } finally {
        await critic.close();
      }
    },
    batch: (temperature = 1) => contractRows(contract.vocabSize, temperature),
  };
}

export async function valuesOf(critic: ValueEngine, batch: TokenBatch): Promise<number[]> {
  return [...(await critic.forward(batch)).values];
}

/** Moves the values of a batch towards 1 by one update; the loss is the mean of (value - 1)^2. */
export async function fitOnce(
  critic: ValueEngine,
  batch: TokenBatch,
  learningRate: number,
): Promise<{ readonly loss: number; readonly stats: StepStats }> {
  const pass = await critic.forward(batch);
  const count = pass.values.length;
  await critic.backward(
    pass,
    pass.values.map((value) => (2 * (value - 1)) / count),
  );
  const stats = await critic.step({ learningRate, weightDecay: 0 });
  return { loss: pass.values.reduce((sum, value) => sum + (value - 1) ** 2, 0) / count, stats };
}
