/** Fixtures for the cases of the critic contract: critics, returns and an optimizer step. */
import type { ValueEngine, StepStats, TokenBatch } from '@trinity-rft/core/engine';
import { contractRows } from '../engine-contract/fixture.js';

/** Functions and settings with which an engine takes part in the critic contract. */
export interface ValueEngineContract {
  /**
   * Opens a critic. All critics must have the same initial weights, and different tokens must have
   * different values.
   */
  readonly open: () => Promise<ValueEngine>;
  /** Upper bound (exclusive) of the token ids that the cases use; at least 8. */
  readonly vocabSize: number;
  /**
   * Maximum difference between values of the same token that are computed in two ways. @default
   * 1e-5
   */
  readonly tolerance?: number;
  /** Learning rate at which a few AdamW steps improve the loss. @default 0.003 */
  readonly learningRate?: number;
}

/** The contract's settings with their defaults, and helpers for the cases. */
export interface ValueFixture extends Required<ValueEngineContract> {
  /** Opens a critic, passes it to `work`, and closes it even if `work` fails. */
  readonly withCritic: <T>(work: (critic: ValueEngine) => Promise<T>) => Promise<T>;
  /** Creates a batch of three rows with different lengths. Their prompts have 3, 1 and 4 tokens. */
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

/**
 * Runs one optimizer step that moves the values of a batch towards 1. The loss is mean((value -
 * 1)^2).
 */
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
