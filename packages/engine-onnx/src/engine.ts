/**
 * The embedded engine: trains and samples one model in worker threads. The engine handles token ids
 * and weights; it has no text, rewards or algorithms.
 */
import { availableParallelism } from 'node:os';

import { EngineError, type Logger, silentLogger } from '@trinity-rft/core';
import type { Engine, Quantization } from '@trinity-rft/core/engine';

import { onnxCapabilities } from './capabilities.js';
import type { LoraOptions } from './lora/plan.js';
import { packTokenBytes } from './model/token-bytes.js';
import { defaultMemoryBudget, trainingMemory } from './train/memory.js';
import type { WorkerOptions } from './protocol/engine-calls.js';
import { connectEngine } from './client/remote-engine.js';
import { startWorker } from './worker/start-worker.js';

export interface OnnxEngineOptions {
  /**
   * A Hugging Face model folder with safetensors, or a GGUF file, of a family in `modelFamilies`.
   */
  readonly modelPath: string;
  /**
   * Number of threads that compute. A model of a few million parameters gets one sampler per
   * thread. A larger model, and the trainer, use all threads inside each operator. The number
   * changes results in the last bits.
   * @default the machine's cores, at most 8
   */
  readonly threads?: number;
  /**
   * True to keep the weights of `modelPath` as a frozen reference. The reference needs a second
   * copy of the weights unless adapters are trained.
   * @default false
   */
  readonly reference?: boolean;
  /**
   * Low-rank adapters to train; the weights of `modelPath` stay unchanged. The sampler uses the
   * adapters, the reference does not. Checkpoints hold the adapters in `lora_adapter`, in PEFT's
   * format, and the merged weights unless `save` excludes them.
   * @default no adapters; all weights are trained
   */
  readonly lora?: LoraOptions;
  /**
   * Format of the frozen weights, which are block-quantised to integers. Requires `lora`. Sampling,
   * scores and gradients use the blocks. `file` uses the blocks of a quantised GGUF file unchanged.
   * Checkpoints of quantised models hold only the adapters.
   * @default floating point numbers
   */
  readonly quantization?: Quantization;
  /** Maximum length of prompt and response together, in tokens. @default the model's own limit */
  readonly maxModelLen?: number;
  /** The bytes of each token id; stop strings and grammars need them. @default none */
  readonly tokenBytes?: readonly Uint8Array[];
  /**
   * Memory for the activations of one training micro-batch, and the same amount for the sampler's
   * cache, in bytes.
   * @default 384 MiB; for activations and gradients, up to an eighth of the machine's memory where
   * that is faster, unless `interactive`
   */
  readonly memoryBudgetBytes?: number;
  /**
   * True for low-latency sampling during training. The trainer then splits its work into short
   * executions of graphs, and merges weights before the sampler adopts them. @default false
   */
  readonly interactive?: boolean;
  /**
   * Maximum number of samplers. Small models have one sampler per thread, so that more requests are
   * served at once. Each sampler takes 30 MB.
   * @default no limit
   */
  readonly maxSamplers?: number;
  /**
   * URL of a module that runs the graphs instead of ONNX Runtime: it exports `createGraphRuntime`.
   * For a GPU: `import.meta.resolve('@trinity-rft/engine-webgpu')`.
   * @default ONNX Runtime on the CPU
   */
  readonly runtime?: string;
  /** Maximum number of sequences sampled at once. @default 256 */
  readonly maxBatchSize?: number;
  /** Logger of the engine. @default no log */
  readonly logger?: Logger;
  /**
   * Signal that aborts opening the model, which then rejects with the signal's reason. @default no
   * signal
   */
  readonly signal?: AbortSignal;
}

/**
 * Opens a model folder in a worker thread; more threads for sampling start with the first request.
 * The process stays alive until the engine is closed.
 * @throws CheckpointError when the folder cannot be used, EngineError when the options do not fit
 * the model or are outside their ranges
 */
export async function createOnnxEngine(options: OnnxEngineOptions): Promise<Engine> {
  const complete = completeOptions(options);
  options.signal?.throwIfAborted();
  const { engine, facts } = await connectEngine(
    (worker) => startWorker({ kind: 'engine', options: worker }),
    complete,
    onnxCapabilities,
    options.signal,
  );
  const { modelPath, threads } = complete;
  const { maxModelLen, parameters, trained } = facts;
  const { logger = silentLogger } = options;
  if (facts.isTextPart)
    logger.warn(
      'The model takes more than text: its text part is trained alone, and checkpoints are of a model without the rest',
      { modelPath },
    );
  logger.info('The embedded engine is ready', {
    modelPath,
    threads,
    maxModelLen,
    parameters,
    trained,
  });
  return engine;
}

/** Fills in the defaults of the options for the worker thread. */
export function completeOptions(options: OnnxEngineOptions): WorkerOptions {
  const { modelPath, maxModelLen, tokenBytes, lora, quantization, runtime } = options;
  const { interactive = false } = options;
  checkCounts(options);
  return {
    modelPath,
    threads: options.threads ?? Math.min(8, availableParallelism()),
    reference: options.reference ?? false,
    memory: trainingMemory(
      options.memoryBudgetBytes ?? (interactive ? defaultMemoryBudget : undefined),
    ),
    interactive,
    maxSamplers: options.maxSamplers ?? Infinity,
    maxBatchSize: options.maxBatchSize ?? 256,
    maxModelLen,
    lora,
    quantization,
    runtime,
    tokenBytes: tokenBytes && packTokenBytes(tokenBytes),
  };
}

const counts = [
  'threads',
  'maxModelLen',
  'memoryBudgetBytes',
  'maxSamplers',
  'maxBatchSize',
] as const;

function checkCounts(options: OnnxEngineOptions): void {
  for (const name of counts) {
    const { [name]: value = 1 } = options;
    if (!Number.isInteger(value) || value < 1)
      throw new EngineError(
        `The engine option ${name} is ${value}; expected a whole number of at least 1.`,
        { code: 'ENGINE_OPTION' },
      );
  }
}
