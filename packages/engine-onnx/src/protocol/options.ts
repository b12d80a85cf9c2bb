/** Options of the engine, and of its threads. */
import { availableParallelism } from 'node:os';

import { EngineError, type Logger } from '@trinity-rft/core';
import type { Quantization } from '@trinity-rft/core/engine';

import type { LoraOptions } from '../lora/plan.js';
import type { ModelConfig } from '../model/config.js';
import { packTokenBytes, type TokenBytes } from '../model/token-bytes.js';
import { defaultMemoryBudget, trainingMemory, type TrainingMemory } from '../train/memory.js';

export interface OnnxEngineOptions {
  /**
   * A Hugging Face model folder with safetensors, or a GGUF file, of a family in `modelFamilies`.
   */
  readonly modelPath: string;
  /**
   * Number of threads that compute. If a model has a few million parameters, each thread runs a
   * separate sampler. For a larger model, and for the trainer, all threads share each operator. The
   * number affects the rounding of results.
   * @default number of CPU cores, at most 8
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
   * scores and gradients use the quantised weights. `file` uses the blocks of a quantised GGUF file
   * unchanged. Checkpoints of quantised models contain only the adapters.
   * @default undefined: the weights are floating-point numbers
   */
  readonly quantization?: Quantization;
  /**
   * Maximum length of prompt and response together, in tokens.
   * @default the model's context length
   */
  readonly maxModelLen?: number;
  /** The bytes of each token id, which stop strings and grammars require. @default none */
  readonly tokenBytes?: readonly Uint8Array[];
  /**
   * Memory for the activations of one training micro-batch in bytes. The sampler's cache may take
   * the same amount again, and the automata and masks of grammars some 150 MB per sampler.
   * @default 384 MiB; unless `interactive`, a micro-batch may use up to an eighth of the machine's
   * memory, for activations and gradients, where this makes training faster
   */
  readonly memoryBudgetBytes?: number;
  /**
   * True for low-latency sampling during training. The trainer then splits its work into short
   * executions of graphs, and merges weights before the sampler adopts them.
   * @default false
   */
  readonly interactive?: boolean;
  /**
   * Maximum number of samplers. Small models have one sampler per thread, to serve more requests at
   * once. Each sampler takes 30 MB.
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
   * Signal that aborts opening the model, which then rejects with the signal's reason.
   * @default no signal
   */
  readonly signal?: AbortSignal;
}

type FilledIn = 'threads' | 'reference' | 'interactive' | 'maxSamplers' | 'maxBatchSize';

/** Options of one of the engine's threads. */
export interface WorkerOptions
  extends
    Required<Pick<OnnxEngineOptions, FilledIn>>,
    Pick<OnnxEngineOptions, 'modelPath' | 'maxModelLen' | 'lora' | 'quantization' | 'runtime'> {
  readonly memory: TrainingMemory;
  readonly tokenBytes?: TokenBytes;
  /**
   * Config of the model; set only in a thread that only samples. Such a thread receives its weights
   * from another thread of the engine.
   * @default undefined: the thread reads the model in `modelPath`
   */
  readonly samplerOf?: ModelConfig;
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

/** @throws EngineError naming the first option that is not a whole number of at least 1 */
export function checkCounts(options: Pick<OnnxEngineOptions, (typeof counts)[number]>): void {
  for (const name of counts) {
    const { [name]: value = 1 } = options;
    if (!Number.isInteger(value) || value < 1)
      throw new EngineError(
        `The engine option ${name} is ${value}; expected a whole number of at least 1.`,
        { code: 'ENGINE_OPTION' },
      );
  }
}
