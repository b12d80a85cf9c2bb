/**
 * The part of the engine inside one thread. Handles the protocol's calls with a model, a trainer
 * and a sampler.
 */
import type { Metrics, TrinityError } from '@trinity-rft/core';
import type { OptimizerOptions, StepStats } from '@trinity-rft/core/engine';
import type { Handlers } from '@trinity-rft/core/worker-link';
import pLimit from 'p-limit';

import { loadModel } from '../lora/load-model.js';
import { readModelFiles, type ModelFiles, type ModelFolder } from '../storage/model-folder.js';
import type { ModelConfig } from '../model/config.js';
import { checkMaxModelLen } from '../model/max-model-len.js';
import { parameterCount } from '../model/parameters.js';
import { WeightBuffers } from '../model/weights.js';
import type { EngineFacts, EngineMethods, SaveCall } from '../protocol/engine-calls.js';
import type { WorkerOptions } from '../protocol/options.js';
import { unpackBatch } from '../protocol/packing.js';
import type { CreateGraphRuntime, GraphRuntime } from '../runtime/graph-runtime.js';
import { throughGate, workThroughGate } from '../runtime/native-gate.js';
import { OnnxRuntime } from '../runtime/onnx-runtime.js';
import { planSamplerThreads, type SamplerThreads } from '../sample/sampler-threads.js';
import { quantizedOptions } from '../quantized/options.js';
import { openQuantized } from '../quantized/state.js';
import { OnnxTrainer } from '../train/trainer.js';
import { SamplingCalls } from './sampling-calls.js';
import { TimeShare } from './time-share.js';
import { openTrainingState, type TrainingState } from './training-state.js';

export class EngineCore {
  readonly handlers: Handlers<EngineMethods>;
  readonly #files: ModelFiles;
  readonly #maxModelLen: number;
  readonly #weights: WeightBuffers;
  readonly #interactive: boolean;
  readonly #state: TrainingState;
  readonly #samplers: number;
  readonly #trainer: OnnxTrainer;
  readonly #sampling: SamplingCalls;
  /** Executes calls of the trainer one at a time, in order. */
  readonly #train = pLimit(1);
  /**
   * Executes work that consists of several runtime calls, and keeps the thread from being
   * terminated between them.
   */
  readonly #whole: typeof workThroughGate;
  /** Processor time of the process when it was last reported. */
  #processorAt = process.cpuUsage();

  private constructor(
    options: WorkerOptions,
    files: ModelFiles,
    weights: WeightBuffers,
    state: TrainingState,
    threads: SamplerThreads,
  ) {
    const { config } = files;
    this.#files = files;
    this.#maxModelLen = options.maxModelLen ?? config.maxPositions;
    this.#weights = weights;
    this.#interactive = options.interactive;
    this.#state = state;
    const timeShare = new TimeShare(
      () => performance.now(),
      async () => weights.runtime.settled?.(),
    );
    const whole =
      options.runtime === undefined ? <T>(work: () => Promise<T>) => work() : workThroughGate;
    this.#whole = whole;
    this.#samplers = threads.samplers;
    this.#trainer = new OnnxTrainer({
      config,
      weights,
      trainable: state.trainable,
      memory: options.memory,
      turn: (run) => timeShare.run('train', run),
      whole,
    });
    this.#sampling = new SamplingCalls({
      config,
      maxModelLen: this.#maxModelLen,
      options,
      threads,
      weights,
      kernels: state.kernels,
      load: (directory) => state.read(directory),
      read: (batch, set) => this.#train(() => this.#trainer.score(batch, set)),
      turn: (run) => whole(() => timeShare.run('sample', run)),
      whole,
    });
    this.handlers = this.#createHandlers();
  }

  /**
   * Opens the model of a thread, with its trainer and sampler.
   * @throws CheckpointError when the model folder cannot be used, EngineError when the options do
   * not fit the model
   */
  static async open(options: WorkerOptions): Promise<EngineCore> {
    const quantized = await quantizedOptions(options);
    if (quantized) {
      const files = await readModelFiles(quantized.modelPath);
      checkMaxModelLen(options, files.config);
      const threads = { samplers: 1, threads: options.threads };
      const state = await openQuantized(
        { ...options, ...quantized },
        onnxRuntime(options, threads),
        files,
      );
      return new EngineCore(options, files, state.weights, state, threads);
    }
    const { weights, ...files } = options.samplerOf
      ? blankModel(options.samplerOf)
      : await loadModel(options.modelPath);
    checkMaxModelLen(options, files.config);
    const threads = options.runtime
      ? { samplers: 1, threads: options.threads }
      : planSamplerThreads(files.config, options.threads, options.maxSamplers);
    const buffers = new WeightBuffers(await runtimeOf(options, threads), files.config, weights);
    // Training adapters does not change the weights, so the reference can share them.
    if (options.reference) buffers.setReference(options.lora ? buffers.training : weights.slice());
    const state = await openTrainingState(options, files, buffers);
    return new EngineCore(options, files, buffers, state, threads);
  }

  /**
   * Rejects open calls of the sampler with `error`, waits for work in progress to end, and frees
   * all memory. Only for engines without a thread: the end of a thread frees its memory.
   */
  async close(error: TrinityError): Promise<void> {
    await this.#sampling.stop(error);
    await this.#train(() => undefined);
    await this.#trainer.close();
    await this.#state.close();
    await this.#sampling.close();
    await this.#weights.runtime.close();
  }

  #createHandlers(): Handlers<EngineMethods> {
    const trainer = this.#trainer;
    const sampling = this.#sampling;
    return {
      open: () => this.#facts(),
      sample: (call, context) => sampling.sample(call, context),
      adopt: (call) => sampling.adopt(call),
      score: ({ batch }, context) => {
        const [row] = unpackBatch(batch).rows;
        return sampling.score(row!, context);
      },
      forward: ({ batch, options }) =>
        this.#train(async () => {
          const { batch: _, ...pass } = await trainer.forward(unpackBatch(batch), options);
          return pass;
        }),
      forwardBackward: ({ batch, gradients }) =>
        this.#train(async () => {
          const { batch: _, ...pass } = await trainer.forwardBackward(
            unpackBatch(batch),
            gradients,
          );
          return pass;
        }),
      backward: ({ batch, offsets, ...gradients }) => {
        // `backward` reads only the layout of the pass, not its log-probabilities.
        const pass = { batch: unpackBatch(batch), offsets, logprobs: gradients.logprobs };
        return this.#train(() => trainer.backward(pass, gradients));
      },
      step: (options) => this.#trainWhole(() => this.#step(options)),
      publish: () => this.#trainWhole(async () => this.#weights.publish()),
      save: (call) => this.#trainWhole(() => this.#save(call)),
      load: ({ directory }) =>
        this.#trainWhole(async () => trainer.restore(await this.#state.load(directory))),
      stats: () => this.#train(() => this.#stats()),
    };
  }

  /**
   * Executes a call of the trainer and keeps the thread from being terminated during the call. Not
   * used for scores and gradients, which may take longer than an exiting process waits. For these,
   * each micro-batch is protected instead.
   */
  #trainWhole<T>(work: () => Promise<T>): Promise<T> {
    return this.#train(() => this.#whole(work));
  }

  /**
   * Makes an optimizer step. With `interactive`, also merges the adapters immediately, so that
   * later requests do not wait for the merge.
   */
  async #step(options: OptimizerOptions): Promise<StepStats> {
    const stats = await this.#trainer.step(options);
    if (this.#interactive) await this.#weights.settled();
    return stats;
  }

  #facts(): EngineFacts {
    const { config, isTextPart = false } = this.#files;
    return {
      maxModelLen: this.#maxModelLen,
      parameters: parameterCount(config),
      trained: this.#state.trainable.specs.reduce((sum, { size }) => sum + size, 0),
      samplers: this.#samplers,
      config,
      isTextPart,
    };
  }

  async #save({ directory, merged, ...call }: SaveCall): Promise<void> {
    const optimizer = call.optimizer ? await this.#trainer.readOptimizer() : undefined;
    await this.#state.save(directory, { optimizer, merged });
  }

  #stats(): Metrics {
    return {
      ...this.#trainer.takeStats(),
      'perf/sampled_tokens': this.#sampling.takeSampledTokens(),
      'perf/engine_memory_gb': process.memoryUsage.rss() / 2 ** 30,
      'perf/processor_seconds': this.#takeProcessorSeconds(),
    };
  }

  /** Returns the seconds of processor time that the process has used since the last call. */
  #takeProcessorSeconds(): number {
    const used = process.cpuUsage(this.#processorAt);
    this.#processorAt = process.cpuUsage();
    return (used.user + used.system) / 1e6;
  }
}

async function runtimeOf(options: WorkerOptions, sampler: SamplerThreads): Promise<GraphRuntime> {
  const { runtime } = options;
  if (runtime === undefined) return onnxRuntime(options, sampler);
  const { createGraphRuntime } = (await import(runtime)) as {
    readonly createGraphRuntime: CreateGraphRuntime;
  };
  return createGraphRuntime({
    gate: throughGate,
    report: (message) => void process.stderr.write(`${message}\n`),
  });
}

const onnxRuntime = ({ threads }: WorkerOptions, sampler: SamplerThreads): OnnxRuntime =>
  new OnnxRuntime({ threads: { train: threads, sample: sampler.threads } });

/**
 * Creates the model of a thread that only samples. Its weights are 0 until the thread receives the
 * actual weights.
 */
function blankModel(config: ModelConfig): ModelFolder {
  return {
    config,
    configText: '',
    companions: new Map(),
    weights: new Float32Array(parameterCount(config)),
  };
}
