/**
 * The embedded critic: a value model in its own worker thread, which predicts one value per
 * position.
 */
import { availableParallelism } from 'node:os';

import { type Logger, silentLogger } from '@trinity-rft/core';
import type { ValueEngine } from '@trinity-rft/core/engine';

import { trainingMemory } from './train/memory.js';
import type { CriticOptions } from './protocol/critic-calls.js';
import { checkCounts } from './protocol/options.js';
import { connectCritic } from './client/remote-critic.js';
import { startWorker } from './worker/start-worker.js';

export interface OnnxCriticOptions {
  /**
   * Path of a Hugging Face model folder or a GGUF file. The model's family must be one of
   * `modelFamilies`. A language model gets a value head initialised to 0, so that every value
   * starts at 0. A model whose head has a single label (`score.weight`) keeps that head.
   */
  readonly modelPath: string;
  /**
   * Number of threads per operator. The number affects the rounding of results.
   * @default number of CPU cores, at most 8
   */
  readonly threads?: number;
  /**
   * Memory for the activations of one micro-batch, in bytes.
   * @default 384 MiB; a micro-batch may use up to an eighth of the machine's memory, for
   * activations and gradients, where this makes training faster
   */
  readonly memoryBudgetBytes?: number;
  /** Logger of the critic. @default no logger */
  readonly logger?: Logger;
}

/**
 * Opens a model folder as a critic in a worker thread. The process stays alive until the critic is
 * closed.
 * @throws CheckpointError when the folder cannot be used; EngineError for an option that is not a
 * count
 */
export async function createOnnxCritic(options: OnnxCriticOptions): Promise<ValueEngine> {
  const complete = completeCriticOptions(options);
  const { critic, parameters } = await connectCritic(
    (worker) => startWorker({ kind: 'critic', options: worker }),
    complete,
  );
  const { modelPath, threads } = complete;
  (options.logger ?? silentLogger).info('The embedded critic is ready', {
    modelPath,
    threads,
    parameters,
  });
  return critic;
}

/**
 * Fills in the defaults of the options for the worker thread.
 * @throws EngineError for a number that is not a count
 */
export function completeCriticOptions(options: OnnxCriticOptions): CriticOptions {
  checkCounts(options);
  return {
    modelPath: options.modelPath,
    threads: options.threads ?? Math.min(8, availableParallelism()),
    memory: trainingMemory(options.memoryBudgetBytes),
  };
}
