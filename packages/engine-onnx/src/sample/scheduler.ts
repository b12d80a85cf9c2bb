/**
 * Continuous batching: requests wait in order of arrival, their choices get rows as rows become
 * free, and every turn of the loop reads one token per row. What a request gets depends on its
 * prompt, options and seed alone, never on what else is running.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

import { InvariantError, ModelError, TrinityError, type SampledSequence } from '@trinity-rft/core';

import type { TokenBytes } from '../model/token-bytes.js';
import type { Feeds } from '../model/weights.js';
import {
  createChoice,
  failRequest,
  isDone,
  type Choice,
  type Request,
  type TokenTexts,
} from './choice.js';
import { createConstraintFactory } from './constraint/constraint.js';
import { decodeRows } from './decode.js';
import type { SamplerKernels } from './kernels.js';
import { KvCache } from './kv-cache.js';
import type { KvPool } from './kv-pool.js';
import type { SamplePlan } from './plan.js';
import { prefillPrompts } from './prefill.js';

export interface SchedulerOptions {
  /** Sequences sampled at once. */
  readonly maxBatchSize: number;
  /** Bytes that keys and values may take. */
  readonly cacheBytes: number;
  /** Requests that may wait. */
  readonly maxQueue: number;
  readonly tokenBytes?: TokenBytes | undefined;
  /** Waits with a turn of the loop until the thread is the sampler's. @default runs at once */
  readonly turn?: (run: () => Promise<void>) => Promise<void>;
}

/** The weights that a sequence is sampled from. */
export interface SamplingWeights {
  readonly flat: Float32Array;
  readonly feeds: Feeds;
  readonly version: number;
  /** The same weights for somebody else, who releases them too. */
  share(): Omit<SamplingWeights, 'version'>;
  release(): void;
}

export interface SampleTicket {
  readonly result: Promise<readonly SampledSequence[]>;
  /**
   * Gives the request up: it is answered with `error`, and its rows are free from the next turn on.
   */
  cancel(error: TrinityError): void;
}

/**
 * A change of weights: what was submitted before it gets the old ones, what is submitted after it
 * the new ones.
 */
interface Switch {
  readonly take: () => SamplingWeights | Promise<SamplingWeights>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  /** Who else waits for the weights that are in use after it. */
  readonly borrowers: Borrower[];
}

type Borrower = Pick<PromiseWithResolvers<SamplingWeights>, 'resolve' | 'reject'>;

/**
 * Prompt tokens read between two turns, so that a flood of prompts does not hold up the sequences
 * that are running.
 */
const prefillTokensPerTurn = 4096;
export class SampleScheduler {
  readonly #kernels: SamplerKernels;
  readonly #options: SchedulerOptions;
  readonly #turn: NonNullable<SchedulerOptions['turn']>;
  readonly #texts: TokenTexts | undefined;
  #queue: (Request | Switch)[] = [];
  readonly #cache: KvCache;
  #choices: Choice[] = [];
  #weights: SamplingWeights;
  #loop: Promise<void> | undefined;
  #closed: TrinityError | undefined;
  #regroupNeeded = false;
  #sampledTokens = 0;

  constructor(kernels: SamplerKernels, weights: SamplingWeights, options: SchedulerOptions) {
    this.#kernels = kernels;
    this.#cache = new KvCache(kernels, options.cacheBytes);
    this.#weights = weights;
    this.#options = options;
    this.#turn = options.turn ?? ((run) => run());
    const { tokenBytes } = options;
    this.#texts = tokenBytes && {
      tokenBytes,
      constraints: createConstraintFactory(tokenBytes, kernels.config.vocabSize),
    };
  }

  get policyVersion(): number {
    return this.#weights.version;
  }

  /** Tokens sampled so far, those of given-up requests included. */
  get sampledTokens(): number {
    return this.#sampledTokens;
  }

  submit(plan: SamplePlan): SampleTicket {
    const { promise, resolve, reject } = Promise.withResolvers<readonly SampledSequence[]>();
    const results = Array.from({ length: plan.choices }, () => undefined);
    const request: Request = {
      plan,
      admitted: 0,
      policyVersion: NaN,
      results,
      settled: false,
      resolve,
      reject,
    };
    if (this.#closed !== undefined) failRequest(request, this.#closed);
    else if (this.#queue.length >= this.#options.maxQueue)
      failRequest(request, queueFull(this.#options.maxQueue));
    else this.#queue.push(request);
    this.#wake();
    return { result: promise, cancel: (error) => failRequest(request, error) };
  }

  /**
   * Takes new weights once every request submitted before is answered; requests submitted
   * afterwards wait for it. So the order of the calls alone decides who gets which weights.
   */
  adopt(take: Switch['take']): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (this.#closed !== undefined) reject(this.#closed);
    else this.#queue.push({ take, resolve, reject, borrowers: [] });
    this.#wake();
    return promise;
  }

  /**
   * The weights that a request submitted now gets, once they are there: for those who use them
   * beside the sampler.
   */
  borrow(): Promise<SamplingWeights> {
    const { promise, resolve, reject } = Promise.withResolvers<SamplingWeights>();
    const change = this.#queue.findLast(isSwitch);
    if (this.#closed !== undefined) reject(this.#closed);
    else if (change === undefined) resolve(this.#lend());
    else change.borrowers.push({ resolve, reject });
    return promise;
  }

  #lend(): SamplingWeights {
    return { ...this.#weights.share(), version: this.#weights.version };
  }

  /**
   * Answers everything that is open with `error`; nothing is accepted afterwards. Resolves when no
   * run is in progress.
   */
  async close(error: TrinityError): Promise<void> {
    this.#closed ??= error;
    for (const request of this.#openRequests()) failRequest(request, error);
    for (const entry of this.#queue.filter(isSwitch))
      for (const waiting of [entry, ...entry.borrowers]) waiting.reject(error);
    this.#queue = [];
    await this.#loop;
    this.#cache.clear();
    this.#weights.release();
  }

  #wake(): void {
    this.#loop ??= this.#runLoop();
  }

  async #runLoop(): Promise<void> {
    // Requests that were sent together arrive in one turn and should share runs from the first
    // token on.
    await nextTurn();
    while (this.#queue.length + this.#choices.length > 0) {
      try {
        await this.#switchWeights();
        await this.#turn(async () => {
          await this.#admit();
          await this.#decode();
        });
      } catch (cause) {
        this.#abandon(
          TrinityError.is(cause)
            ? cause
            : new InvariantError('The sampler failed; this is a bug, please report it.', { cause }),
        );
      }
      this.#release();
    }
    this.#loop = undefined;
  }

  async #switchWeights(): Promise<void> {
    if (this.#choices.length > 0) return;
    for (let next = this.#queue[0]; next !== undefined && isSwitch(next); next = this.#queue[0]) {
      this.#queue.shift();
      try {
        const weights = await next.take();
        this.#weights.release();
        this.#weights = weights;
        next.resolve();
      } catch (error) {
        next.reject(error);
      }
      for (const borrower of next.borrowers) borrower.resolve(this.#lend());
    }
  }

  /** Gives free rows to waiting choices, in order, and reads their prompts. */
  async #admit(): Promise<void> {
    this.#queue = this.#queue.filter((entry) => isSwitch(entry) || !entry.settled);
    const starts: { request: Request; count: number }[] = [];
    let rows = this.#choices.length;
    let bytes = this.#choices.reduce(
      (sum, choice) => sum + this.#cache.rowBytes(choice.request.plan),
      0,
    );
    let promptTokens = 0;
    for (const request of this.#queue) {
      if (isSwitch(request)) break;
      const room = Math.min(
        this.#options.maxBatchSize - rows,
        Math.floor((this.#options.cacheBytes - bytes) / this.#cache.rowBytes(request.plan)),
      );
      // One sequence always runs, however large.
      const count = Math.min(
        request.plan.choices - request.admitted,
        rows === 0 ? Math.max(1, room) : room,
      );
      if (
        count <= 0 ||
        (promptTokens > 0 && promptTokens + request.plan.prompt.length > prefillTokensPerTurn)
      )
        break;
      starts.push({ request, count });
      rows += count;
      bytes += count * this.#cache.rowBytes(request.plan);
      if (!isStarted(request)) promptTokens += request.plan.prompt.length;
      if (request.admitted + count < request.plan.choices) break;
    }
    if (starts.length === 0) return;
    const fresh = starts.map(({ request }) => request).filter((request) => !isStarted(request));
    for (const request of fresh) request.policyVersion = this.#weights.version;
    for (const { request, count } of starts) request.admitted += count;
    await prefillPrompts(this.#kernels, this.#weights.feeds, fresh);
    for (const [pool, group] of Map.groupBy(starts, ({ request }) =>
      this.#cache.firstPool(request.plan),
    )) {
      pool.reserve(group.reduce((sum, { count }) => sum + count, 0));
      for (const { request, count } of group) this.#start(request, count, pool);
    }
    this.#queue = this.#queue.filter(
      (entry) => isSwitch(entry) || entry.admitted < entry.plan.choices,
    );
    this.#regroupNeeded = true;
  }

  /** Gives rows to the last `count` choices that were admitted. */
  #start(request: Request, count: number, pool: KvPool): void {
    const { plan, admitted, prefix } = request;
    for (let index = admitted - count; index < admitted; index++) {
      const choice = createChoice(request, index, pool, this.#texts);
      pool.add(choice);
      if (prefix !== undefined)
        pool.storePrompt(choice, prefix.data, prefix.index, prefix.stride, plan.prompt.length - 1);
      this.#choices.push(choice);
    }
    if (admitted === plan.choices) request.prefix = undefined;
  }

  async #decode(): Promise<void> {
    this.#regroup();
    for (const pool of this.#cache.pools())
      await decodeRows(this.#kernels, this.#weights.feeds, pool);
  }

  #regroup(): void {
    if (
      !this.#regroupNeeded &&
      !this.#choices.some((choice) => choice.cached >= choice.pool.capacity)
    )
      return;
    this.#regroupNeeded = false;
    this.#cache.regroup(this.#choices);
  }

  /** Frees the rows of sequences that have ended. */
  #release(): void {
    if (!this.#choices.some(isDone)) return;
    for (const choice of this.#choices) {
      if (!isDone(choice)) continue;
      this.#sampledTokens += choice.tokens.length;
      choice.pool.remove(choice);
    }
    this.#choices = this.#choices.filter((choice) => !isDone(choice));
    this.#regroupNeeded = true;
  }

  /**
   * Answers everything that has begun with an error. The cache goes too: it may hold numbers that
   * are not finite.
   */
  #abandon(error: TrinityError): void {
    const open = this.#openRequests();
    // When nothing has begun, what failed is the way to begin: the next attempt would fail too.
    for (const request of open.some(isStarted) ? open.filter(isStarted) : open)
      failRequest(request, error);
    this.#choices = [];
    this.#cache.clear();
  }

  #openRequests(): Request[] {
    return [
      ...new Set([
        ...this.#choices.map((choice) => choice.request),
        ...this.#queue.filter(isRequest),
      ]),
    ];
  }
}

function isSwitch(entry: Request | Switch): entry is Switch {
  return !isRequest(entry);
}

function isRequest(entry: Request | Switch): entry is Request {
  return 'plan' in entry;
}

function isStarted(request: Request): boolean {
  return request.admitted > 0;
}

function queueFull(maxQueue: number): ModelError {
  return new ModelError(
    `${maxQueue} sampling requests are waiting already; wait for some of them before sending more.`,
    {
      status: 503,
      code: 'queue_full',
      retryable: true,
    },
  );
}
