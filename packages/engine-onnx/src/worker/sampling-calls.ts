/** The sampling calls of an engine's thread: requests, scores, and changes of weights. */
import type { MessagePort } from 'node:worker_threads';

import { type TrinityError, CancelledError } from '@trinity-rft/core';
import type { TokenRow } from '@trinity-rft/core/engine';
import type { CallContext } from '@trinity-rft/core/worker-link';

import type { ModelConfig } from '../model/config.js';
import type { WeightBuffers, WeightLease } from '../model/weights.js';
import type {
  AdoptCall,
  DrawnToken,
  SampleCall,
  SamplerWeightSource,
} from '../protocol/engine-calls.js';
import type { WorkerOptions } from '../protocol/options.js';
import { packSequences, type PackedSequences } from '../protocol/packing.js';
import { createSamplerKernels, type SamplerKernels } from '../sample/kernels.js';
import { planSample, type SampleLimits } from '../sample/plan.js';
import type { SamplerThreads } from '../sample/sampler-threads.js';
import {
  SampleScheduler,
  type SamplingWeights,
  type SchedulerOptions,
} from '../sample/scheduler.js';
import { checkScore, Scorer, type ScorerOptions } from '../sample/scorer.js';
import { orTell, receiveWeights, sendFound, sendLeased } from './weight-port.js';

/** Maximum number of requests that wait for a row; requests beyond this number are rejected. */
const maxQueue = 65_536;

export interface SamplingParts {
  readonly config: ModelConfig;
  readonly maxModelLen: number;
  readonly options: Pick<WorkerOptions, 'tokenBytes' | 'maxBatchSize' | 'memory'>;
  readonly threads: SamplerThreads;
  readonly weights: WeightBuffers;
  /**
   * The sampler's graphs. If undefined, the sampler creates graphs that take the weights as inputs.
   */
  readonly kernels: SamplerKernels | undefined;
  /** Loads the weights of a checkpoint folder. */
  readonly load: (directory: string) => Promise<Float32Array>;
  /** Computes scores; see `ScorerOptions`. */
  readonly read: ScorerOptions['read'];
  /** Executes an iteration of the sampler when the thread is free for it. */
  readonly turn: NonNullable<SchedulerOptions['turn']>;
  /**
   * Executes work that consists of several graph executions, and keeps the thread from being
   * terminated between them.
   */
  readonly whole: <T>(work: () => Promise<T>) => Promise<T>;
}

/** A request that can be cancelled. */
interface Ticket<T> {
  readonly result: Promise<T>;
  cancel(error: TrinityError): void;
}

export class SamplingCalls {
  readonly #parts: SamplingParts;
  readonly #limits: SampleLimits;
  readonly #kernels: SamplerKernels;
  readonly #scorer: Scorer;
  #scheduler: SampleScheduler | undefined;
  #reportedTokens = 0;

  constructor(parts: SamplingParts) {
    const { config, maxModelLen, options } = parts;
    this.#parts = parts;
    this.#limits = {
      vocabSize: config.vocabSize,
      maxModelLen,
      hasTokenBytes: options.tokenBytes !== undefined,
    };
    this.#kernels = parts.kernels ?? createSamplerKernels(config, parts.weights.runtime);
    this.#scorer = new Scorer({ read: parts.read, maxRows: options.maxBatchSize });
  }

  async sample(call: SampleCall, context: CallContext): Promise<PackedSequences> {
    const plan = planSample(call.prompt, call.options, this.#limits, call.firstChoice);
    const report = (...drawn: DrawnToken): void => context.progress(drawn);
    const sampler = await this.#sampler();
    const ticket = sampler.submit(plan, call.reportTokens ? report : undefined);
    return packSequences(await resultOf(ticket, context));
  }

  async score(row: TokenRow, context: CallContext): Promise<Float32Array> {
    checkScore(row, this.#parts.config, this.#limits);
    const sampler = await this.#sampler();
    const weights = await sampler.borrow();
    return resultOf(this.#scorer.submit(row, weights), context);
  }

  async adopt({ source, version, copyTo }: AdoptCall): Promise<void> {
    if (source.kind !== 'initial') {
      const take = this.#weightsOf(source, version, copyTo);
      return (await this.#sampler()).adopt((release) => this.#parts.whole(() => take(release)));
    }
    const borrow = async (): Promise<WeightLease> => (await this.#sampler()).borrow();
    const weights = await sendLeased(copyTo, borrow, (lease) => this.#numbersOf(lease));
    weights.release();
  }

  /** Returns the number of tokens sampled since the last call. */
  takeSampledTokens(): number {
    const total = this.#scheduler?.sampledTokens ?? 0;
    const tokens = total - this.#reportedTokens;
    this.#reportedTokens = total;
    return tokens;
  }

  /** Rejects open requests with `error` and waits for the work in progress. */
  async stop(error: TrinityError): Promise<void> {
    await this.#scheduler?.close(error);
    await this.#scorer.close(error);
  }

  /** Frees the graphs. Call {@link stop} first. */
  close(): Promise<void> {
    return this.#kernels.close();
  }

  /**
   * Returns a function that obtains the weights of a source. For published weights, these are the
   * weights published now, even if newer weights are published while earlier requests finish. If
   * the published weights still have to be computed and are not copied to other threads, the
   * sampler first releases its current weights, so that no second set is needed.
   */
  #weightsOf(
    source: Exclude<SamplerWeightSource, { kind: 'initial' }>,
    version: number,
    copyTo: readonly MessagePort[],
  ): (releaseCurrent: () => void) => Promise<SamplingWeights> {
    const { weights, load } = this.#parts;
    if (source.kind === 'published') {
      const published = orTell(copyTo, () => weights.leasePublished());
      if (copyTo.length > 0 || published.isWritten) {
        const sent = sendLeased(
          copyTo,
          () => published.lease(),
          (lease) => this.#numbersOf(lease),
        );
        sent.catch(() => undefined);
        return async () => ({ ...(await sent), version });
      }
      return async (releaseCurrent) => {
        releaseCurrent();
        return { ...(await published.lease()), version };
      };
    }
    return async () => {
      const found =
        source.kind === 'sent'
          ? await receiveWeights(source.port)
          : await sendFound(copyTo, () => load(source.directory));
      return { ...weights.leaseCopy(found), version };
    };
  }

  #numbersOf({ set }: WeightLease): Promise<Float32Array> {
    return this.#parts.weights.runtime.readSet(set);
  }

  /**
   * Returns the scheduler. The first call creates it, with the current training weights as version
   * -1.
   */
  async #sampler(): Promise<SampleScheduler> {
    const { weights, options, threads, turn, whole } = this.#parts;
    if (!this.#scheduler) await whole(() => weights.settled());
    this.#scheduler ??= new SampleScheduler(
      this.#kernels,
      { ...weights.lease(), version: -1 },
      {
        maxBatchSize: Math.ceil(options.maxBatchSize / threads.samplers),
        cacheBytes: options.memory.budget / threads.samplers,
        maxQueue,
        tokenBytes: options.tokenBytes,
        turn,
      },
    );
    return this.#scheduler;
  }
}

/**
 * Returns the result of a request. Rejects with a CancelledError if the caller aborts the call
 * first.
 */
function resultOf<T>(ticket: Ticket<T>, context: CallContext): Promise<T> {
  context.onCancel(() =>
    ticket.cancel(
      new CancelledError('The call was aborted by its caller.', {
        code: 'SAMPLE_ABORTED',
        reason: 'aborted',
      }),
    ),
  );
  return ticket.result;
}
