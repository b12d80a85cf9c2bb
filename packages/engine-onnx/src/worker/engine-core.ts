/**
 * The engine itself, in one thread: weights, trainer, sampler and model folder, behind the calls of
 * the protocol.
 */
import type { MessagePort } from 'node:worker_threads';

import {
  CancelledError,
  EngineError,
  type Metrics,
  type TokenRow,
  type TrinityError,
} from '@trinity-rft/core';

import { loadWeightsOf } from '../folder/checkpoint.js';
import { loadModelFolder, type ModelFiles, type ModelFolder } from '../folder/model-folder.js';
import type { ModelConfig } from '../model/config.js';
import { parameterCount } from '../model/parameters.js';
import { WeightBuffers, type WeightLease } from '../model/weights.js';
import { inOrder } from './in-order.js';
import { Turns } from './turns.js';
import { createSamplerKernels, type SamplerKernels } from '../sample/kernels.js';
import { samplingThreads, type SamplingThreads } from '../sample/sampler-threads.js';
import { planSample } from '../sample/plan.js';
import { SampleScheduler, type SampleTicket, type SamplingWeights } from '../sample/scheduler.js';
import { checkScore, Scorer, type ScorerOptions } from '../sample/scorer.js';
import { blankOptimizer } from '../train/optimizer-file.js';
import { OnnxTrainer } from '../train/trainer.js';
import {
  packSequences,
  unpackBatch,
  type Calls,
  type EngineFacts,
  type LaneSource,
  type Method,
  type WorkerOptions,
} from '../protocol/engine-calls.js';
import { openTrainingState, type TrainingState } from './training-state.js';
import { receiveWeights, sendWeights } from './weight-port.js';

/** Requests that may wait for a row before more are refused. */
const maxQueue = 65_536;

type WeightSwitch = Parameters<SampleScheduler['adopt']>[0];

export class EngineCore {
  readonly #options: WorkerOptions;
  readonly #files: ModelFiles;
  readonly #weights: WeightBuffers;
  readonly #state: TrainingState;
  readonly #trainer: OnnxTrainer;
  readonly #kernels: SamplerKernels;
  readonly #maxModelLen: number;
  readonly #turns: Turns;
  readonly #sampling: SamplingThreads;
  readonly #tickets = new Map<number, Pick<SampleTicket, 'cancel'>>();
  readonly #scorer: Scorer;
  #scheduler: SampleScheduler | undefined;
  /** Calls of the trainer. */
  readonly #training = inOrder();
  #sampledBefore = 0;

  private constructor(
    options: WorkerOptions,
    files: ModelFiles,
    weights: WeightBuffers,
    state: TrainingState,
  ) {
    const { config } = files;
    this.#options = options;
    this.#files = files;
    this.#weights = weights;
    this.#state = state;
    this.#maxModelLen = options.maxModelLen ?? config.maxPositions;
    this.#turns = new Turns(() => performance.now());
    const turn = <T>(run: () => Promise<T>): Promise<T> => this.#turns.take('train', run);
    const { threads, memoryBudgetBytes } = options;
    this.#sampling = samplingThreads(config, threads);
    const { trainable } = state;
    const samplerThreads = this.#sampling.threads;
    this.#trainer = new OnnxTrainer({
      config,
      weights,
      trainable,
      threads,
      samplerThreads,
      memoryBudgetBytes,
      turn,
    });
    this.#kernels = createSamplerKernels(config, this.#sampling);
    const read: ScorerOptions['read'] = (batch, feeds) =>
      this.#train(() => this.#trainer.score(batch, feeds));
    this.#scorer = new Scorer({ read, maxRows: options.maxBatchSize });
  }

  /**
   * @throws CheckpointError when the model folder cannot be used, EngineError when the options do
   * not fit it
   */
  static async open(options: WorkerOptions): Promise<EngineCore> {
    const { weights, ...files } = options.samples
      ? blankModel(options.samples)
      : await loadModelFolder(options.modelPath);
    const { maxPositions } = files.config;
    if (options.maxModelLen !== undefined && options.maxModelLen > maxPositions) {
      throw new EngineError(
        `maxModelLen is ${options.maxModelLen}, but the model in ${options.modelPath} has only ${maxPositions} positions (max_position_embeddings); set it to that or less.`,
        {
          code: 'ENGINE_OPTIONS',
        },
      );
    }
    const buffers = new WeightBuffers(files.config, weights);
    // What adapters are beside is never written to.
    if (options.reference) buffers.setReference(options.lora ? weights : weights.slice());
    return new EngineCore(
      options,
      files,
      buffers,
      await openTrainingState(options, files, buffers),
    );
  }

  get facts(): EngineFacts {
    const trained = this.#state.trainable.specs.reduce((sum, { size }) => sum + size, 0);
    const { config } = this.#files;
    return { maxModelLen: this.#maxModelLen, parameters: parameterCount(config), trained, config };
  }

  /** Runs one call of the protocol; `id` is what {@link cancel} refers to. */
  call<M extends Method>(
    id: number,
    method: M,
    args: Calls[M]['args'],
  ): Promise<Calls[M]['result']> {
    const handlers: { [K in Method]: (args: Calls[K]['args']) => Promise<Calls[K]['result']> } = {
      open: async () => this.facts,
      sample: (wanted) => this.#sample(id, wanted),
      adopt: (wanted) => this.#adopt(wanted),
      score: ({ batch }) => this.#score(id, unpackBatch(batch).rows[0]!),
      forward: ({ batch, options: wanted }) =>
        this.#train(async () => {
          const { batch: _, ...pass } = await this.#trainer.forward(unpackBatch(batch), wanted);
          return pass;
        }),
      backward: ({ batch, offsets, ...gradients }) =>
        this.#train(async () => {
          // Only the layout of a pass matters here, not the numbers it held.
          await this.#trainer.backward(
            { batch: unpackBatch(batch), offsets, logprobs: gradients.logprobs },
            gradients,
          );
          return undefined;
        }),
      step: (options) => this.#train(() => this.#trainer.step(options)),
      publish: () =>
        this.#train(async () => {
          this.#weights.publish();
          return undefined;
        }),
      save: ({ directory, optimizer }) =>
        this.#train(async () => {
          const state = optimizer
            ? (this.#trainer.optimizer ?? blankOptimizer(this.#state.trainable.specs, 0))
            : undefined;
          await this.#state.save(directory, state);
          return undefined;
        }),
      load: ({ directory }) => this.#train(() => this.#load(directory)),
      stats: () => this.#train(async () => this.#stats()),
    };
    return handlers[method](args);
  }

  /** Gives up the sampling or scoring call `id`, if it is still open. */
  cancel(id: number): void {
    this.#tickets.get(id)?.cancel(
      new CancelledError('The call was aborted by its caller.', {
        code: 'SAMPLE_ABORTED',
        reason: 'aborted',
      }),
    );
  }

  /**
   * Answers open calls of the sampler with `error`, waits for the run in progress and frees the
   * sessions.
   */
  async close(error: TrinityError): Promise<void> {
    await this.#scheduler?.close(error);
    await this.#scorer.close(error);
    await this.#training.idle();
    await this.#trainer.close();
    await this.#state.close();
    await this.#kernels.close();
  }

  async #sample(
    id: number,
    { prompt, options, first }: Calls['sample']['args'],
  ): Promise<Calls['sample']['result']> {
    const limits = {
      vocabSize: this.#files.config.vocabSize,
      maxModelLen: this.#maxModelLen,
      hasTokenBytes: this.#options.tokenBytes !== undefined,
    };
    const ticket = this.#sampler().submit(planSample(prompt, options, limits, first));
    return packSequences(await this.#answer(id, ticket));
  }

  async #score(id: number, row: TokenRow): Promise<Float32Array> {
    checkScore(row, this.#files.config, { maxModelLen: this.#maxModelLen });
    const weights = await this.#sampler().borrow();
    return this.#answer(id, this.#scorer.submit(row, weights));
  }

  /** The result of a call that can be given up until then. */
  async #answer<T>(
    id: number,
    ticket: { readonly result: Promise<T>; cancel(error: TrinityError): void },
  ): Promise<T> {
    this.#tickets.set(id, ticket);
    try {
      return await ticket.result;
    } finally {
      this.#tickets.delete(id);
    }
  }

  async #adopt({ source, version, copyTo }: Calls['adopt']['args']): Promise<undefined> {
    const sampler = this.#sampler();
    if (source.kind === 'initial') {
      const weights = await sampler.borrow();
      sendWeights(copyTo, () => weights.flat);
      weights.release();
    } else await sampler.adopt(this.#source(source, version, copyTo));
    return undefined;
  }

  /**
   * What is leased now stays as it is: what is published later, while earlier requests finish, is
   * another version.
   */
  #source(
    source: Exclude<LaneSource, { kind: 'initial' }>,
    version: number,
    copyTo: readonly MessagePort[],
  ): WeightSwitch {
    if (source.kind === 'published') {
      let lease: WeightLease | undefined;
      sendWeights(copyTo, () => (lease = this.#weights.leasePublished()).flat);
      return () => samplingWeights(lease!, version);
    }
    return async () => {
      const found =
        source.kind === 'sent'
          ? await receiveWeights(source.port)
          : await loadWeightsOf(source.directory, this.#files.config);
      const lease = this.#weights.leaseEmpty();
      lease.flat.set(found);
      return samplingWeights(lease, version);
    };
  }

  /** Begins with the training weights of the moment it is first needed, as version -1. */
  #sampler(): SampleScheduler {
    this.#scheduler ??= new SampleScheduler(
      this.#kernels,
      samplingWeights(this.#weights.lease(), -1),
      {
        maxBatchSize: Math.ceil(this.#options.maxBatchSize / this.#sampling.lanes),
        cacheBytes: this.#options.memoryBudgetBytes / this.#sampling.lanes,
        maxQueue,
        tokenBytes: this.#options.tokenBytes,
        turn: (run) => this.#turns.take('sample', run),
      },
    );
    return this.#scheduler;
  }

  async #load(directory: string): Promise<undefined> {
    this.#trainer.restore(await this.#state.load(directory));
    return undefined;
  }

  #stats(): Metrics {
    const sampled = this.#scheduler?.sampledTokens ?? 0;
    const since = sampled - this.#sampledBefore;
    this.#sampledBefore = sampled;
    return {
      ...this.#trainer.takeStats(),
      'perf/sampled_tokens': since,
      'perf/engine_memory_gb': process.memoryUsage.rss() / 2 ** 30,
    };
  }

  #train<T>(work: () => Promise<T>): Promise<T> {
    return this.#training.run(work);
  }
}

/** What a thread that only samples has until it gets weights. */
function blankModel(config: ModelConfig): ModelFolder {
  return {
    config,
    configText: '',
    companions: new Map(),
    weights: new Float32Array(parameterCount(config)),
  };
}

function samplingWeights(lease: WeightLease, version: number): SamplingWeights {
  return { ...lease, version };
}
