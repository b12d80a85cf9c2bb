/** Fixtures for the cases of the engine contract: engines, batches and a train step. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRandom } from '@trinity-rft/core';
import type {
  Engine,
  ForwardOptions,
  SampledSequence,
  SamplingOptions,
  StepStats,
  TokenBatch,
  TokenRow,
} from '@trinity-rft/core/engine';

/** Fixture that an engine provides to the contract. */
export interface EngineContract {
  /**
   * Opens an engine. Every engine has the same initial weights, whose next-token distributions are
   * neither flat nor sharp.
   */
  readonly open: () => Promise<Engine>;
  /** Exclusive upper bound of the token ids in the cases; at least 8. */
  readonly vocabSize: number;
  /**
   * Maximum difference between log-probabilities of a token that are computed in two ways, in nats.
   * @default 1e-5
   */
  readonly tolerance?: number;
  /** Learning rate at which a few AdamW updates improve the loss. @default 0.003 */
  readonly learningRate?: number;
  /** Temperatures at which `sampler.score` works; `one` means temperature 1 only. @default "any" */
  readonly scoresAt?: 'any' | 'one';
  /**
   * Weights that sequences in progress use after `adopt`: the ones they started with, or the new
   * ones.
   * @default "kept"
   */
  readonly inFlight?: 'kept' | 'replaced';
  /** True if the engine has `forwardBackward`. @default false */
  readonly onePass?: boolean;
}

/** Helpers for the cases. */
export interface EngineFixture extends Required<EngineContract> {
  /** Opens an engine and closes it afterwards, even after a failure. */
  readonly withEngine: <T>(work: (engine: Engine) => Promise<T>) => Promise<T>;
  /** Creates three rows of different lengths, whose prompts have 3, 1 and 4 tokens. */
  readonly batch: (temperature?: number) => TokenBatch;
  readonly prompt: (length: number) => Int32Array;
}

function randomIds(vocabSize: number, length: number, seed: number): Int32Array {
  const random = createRandom(seed);
  return Int32Array.from({ length }, () => random.integer(vocabSize));
}

/** Creates three rows of different lengths, whose prompts have 3, 1 and 4 tokens. */
export function contractRows(vocabSize: number, temperature: number): TokenBatch {
  return {
    rows: [
      { tokens: randomIds(vocabSize, 9, 1), promptLength: 3, temperature },
      { tokens: randomIds(vocabSize, 5, 2), promptLength: 1, temperature },
      { tokens: randomIds(vocabSize, 12, 3), promptLength: 4, temperature },
    ],
  };
}

export function engineFixture(contract: EngineContract): EngineFixture {
  return {
    tolerance: 1e-5,
    learningRate: 0.003,
    scoresAt: 'any',
    inFlight: 'kept',
    onePass: false,
    ...contract,
    withEngine: async (work) => {
      const engine = await contract.open();
      try {
        return await work(engine);
      } finally {
        await engine.close();
      }
    },
    batch: (temperature = 1) => contractRows(contract.vocabSize, temperature),
    prompt: (length) => randomIds(contract.vocabSize, length, 4),
  };
}

export const responseTokens = (rows: readonly TokenRow[]): number =>
  rows.reduce((sum, { tokens, promptLength }) => sum + tokens.length - promptLength, 0);

/**
 * Runs one update that lowers the mean negative log-probability. Its gradient with respect to each
 * of the N log-probabilities is -1/N.
 */
export async function trainOnce(
  engine: Engine,
  batch: TokenBatch,
  learningRate: number,
): Promise<{ readonly loss: number; readonly stats: StepStats }> {
  const pass = await engine.trainer.forward(batch);
  const count = pass.logprobs.length;
  await engine.trainer.backward(pass, { logprobs: new Float32Array(count).fill(-1 / count) });
  const stats = await engine.trainer.step({ learningRate, weightDecay: 0 });
  return { loss: -pass.logprobs.reduce((a, b) => a + b, 0) / count, stats };
}

export async function logprobsOf(
  engine: Engine,
  batch: TokenBatch,
  options?: ForwardOptions,
): Promise<number[]> {
  return [...(await engine.trainer.forward(batch, options)).logprobs];
}

export async function sampleOne(
  engine: Engine,
  prompt: Int32Array,
  options: SamplingOptions,
): Promise<SampledSequence> {
  const [first] = await engine.sampler.sample(prompt, options);
  return first!;
}

/**
 * Returns the largest absolute difference between elements at the same index; infinity if the
 * lengths differ.
 */
export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Infinity;
  return Array.from(a).reduce((worst, value, i) => Math.max(worst, Math.abs(value - b[i]!)), 0);
}

/** Runs `work` with a path in a temporary folder, and removes the folder afterwards. */
export async function withFolder<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const root = await mkdtemp(join(tmpdir(), 'engine-contract-'));
  try {
    return await work(join(root, 'checkpoint'));
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}
