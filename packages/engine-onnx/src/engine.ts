/**
 * The embedded engine: trains and samples one model in worker threads. Knows token ids and weights;
 * nothing of text, rewards or algorithms.
 */
import { availableParallelism } from 'node:os';

import { silentLogger, type Engine, type Logger } from '@trinity-rft/core';

import { onnxCapabilities } from './capabilities.js';
import type { LoraOptions } from './lora/plan.js';
import { packTokenBytes } from './model/token-bytes.js';
import { defaultMemoryBudget } from './train/memory.js';
import type { WorkerOptions } from './protocol/engine-calls.js';
import { connectEngine } from './client/remote-engine.js';
import { startWorker } from './worker/start-worker.js';

export interface OnnxEngineOptions {
  /** A Hugging Face model folder: config.json (qwen3, qwen2 or llama) and safetensors. */
  readonly modelPath: string;
  /**
   * Threads that compute. A model of a few million parameters is sampled by as many samplers side
   * by side; else, and for training, they share operators, and results depend on their number in
   * the last bits. @default the machine's cores, at most 8
   */
  readonly threads?: number;
  /**
   * Keep the weights of `modelPath` as a frozen reference; costs their memory once more, unless
   * adapters are trained.
   * @default false
   */
  readonly reference?: boolean;
  /**
   * Train low-rank adapters; the weights of `modelPath` stay as they are. The sampler has the
   * adapters, the reference has not. Checkpoints hold the adapted weights, and the adapters in
   * `lora_adapter` as PEFT reads them. @default all weights are trained
   */
  readonly lora?: LoraOptions;
  /** Longest prompt + response. @default what the model was made for */
  readonly maxModelLen?: number;
  /** The byte string of each token id; stop strings need it. @default none */
  readonly tokenBytes?: readonly Uint8Array[];
  /**
   * What activations of one training micro-batch may take, and likewise the sampler's cache.
   * @default 384 MiB
   */
  readonly memoryBudgetBytes?: number;
  /** Sequences sampled at once. @default 256 */
  readonly maxBatchSize?: number;
  /** @default silent */
  readonly logger?: Logger;
}

/**
 * Opens a model folder in a worker thread; those that only sample start with the first request. The
 * process stays alive until the engine is closed.
 * @throws CheckpointError when the folder cannot be used, EngineError when the options do not fit
 * it
 */
export async function createOnnxEngine(options: OnnxEngineOptions): Promise<Engine> {
  const complete = completeOptions(options);
  const { engine, facts } = await connectEngine(
    (worker) => startWorker({ kind: 'engine', options: worker }),
    complete,
    onnxCapabilities,
  );
  const { modelPath, threads } = complete;
  const { maxModelLen, parameters, trained } = facts;
  (options.logger ?? silentLogger).info('The embedded engine is ready', {
    modelPath,
    threads,
    maxModelLen,
    parameters,
    trained,
  });
  return engine;
}

/** The options as the worker gets them. */
export function completeOptions(options: OnnxEngineOptions): WorkerOptions {
  const { modelPath, maxModelLen, tokenBytes, lora } = options;
  return {
    modelPath,
    threads: options.threads ?? Math.min(8, availableParallelism()),
    reference: options.reference ?? false,
    memoryBudgetBytes: options.memoryBudgetBytes ?? defaultMemoryBudget,
    maxBatchSize: options.maxBatchSize ?? 256,
    ...(maxModelLen !== undefined && { maxModelLen }),
    ...(lora && { lora }),
    ...(tokenBytes && { tokenBytes: packTokenBytes(tokenBytes) }),
  };
}
