/**
 * The embedded critic: a separate model in a separate worker thread, with one value per
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
   * A Hugging Face model folder, or a GGUF file, of a family in `modelFamilies`. A language model
   * gets a head of zeros, so that every value starts at 0; a model with a head of one label
   * (`score.weight`) keeps its head.
   */
  readonly modelPath: string;
  /**
   * Number of threads inside one operator; changes the last bits of results.
   * @default the machine's cores, at most 8
   */
  readonly threads?: number;
  /**
   * Memory for the activations of one micro-batch, in bytes.
   * @default 384 MiB; for activations and gradients, up to an eighth of the machine's memory where
   * that is faster
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
