/** Fixtures for the cases of the engine contract: engines, batches and an optimizer step. */
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

/** Functions and settings with which an engine takes part in the contract. */
export interface EngineContract {
  /**
   * Opens an engine. All engines must have the same initial weights. Their next-token distributions
   * must be neither nearly uniform nor concentrated on few tokens.
   */
  readonly open: () => Promise<Engine>;
  /** Upper bound (exclusive) of the token ids that the cases use; at least 8. */
  readonly vocabSize: number;
  /**
   * Maximum difference, in nats, between log-probabilities of the same token that are computed in
   * two ways.
   * @default 1e-5
   */
  readonly tolerance?: number;
  /** Learning rate at which a few AdamW steps improve the loss. @default 0.003 */
  readonly learningRate?: number;
  /**
   * Temperatures for which `sampler.score` works; `one` means only temperature 1. @default "any"
   */
  readonly scoresAt?: 'any' | 'one';
  /**
   * Weights with which sequences in progress continue after `adopt`: `kept` for those they started
   * with, `replaced` for the new ones.
   * @default "kept"
   */
  readonly inFlight?: 'kept' | 'replaced';
  /** True if the engine implements `forwardBackward`. @default false */
  readonly onePass?: boolean;
}

/** The contract's settings with their defaults, and helpers for the cases. */
export interface EngineFixture extends Required<EngineContract> {
  /** Opens an engine, passes it to `work`, and closes it even if `work` fails. */
  readonly withEngine: <T>(work: (engine: Engine) => Promise<T>) => Promise<T>;
  /** Creates a batch of three rows with different lengths. Their prompts have 3, 1 and 4 tokens. */
  readonly batch: (temperature?: number) => TokenBatch;
  readonly prompt: (length: number) => Int32Array;
}

function randomIds(vocabSize: number, length: number, seed: number): Int32Array {
  const random = createRandom(seed);
  return Int32Array.from({ length }, () => random.integer(vocabSize));
}

/** Creates a batch of three rows with different lengths. Their prompts have 3, 1 and 4 tokens. */
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
 * Runs one optimizer step that lowers the mean negative log-probability. Its gradient is -1/N for
 * each of the N log-probabilities.
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
 * Returns the largest absolute difference between elements with the same index, or infinity if the
 * lengths differ.
 */
export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Infinity;
  return Array.from(a).reduce((worst, value, i) => Math.max(worst, Math.abs(value - b[i]!)), 0);
}

/** Calls `work` with the path of a temporary folder, and then removes the folder. */
export async function withFolder<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const root = await mkdtemp(join(tmpdir(), 'engine-contract-'));
  try {
    return await work(join(root, 'checkpoint'));
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}
