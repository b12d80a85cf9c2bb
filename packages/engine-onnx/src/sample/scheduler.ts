/**
 * Continuous batching. Requests wait in order of arrival, and their choices get rows as rows become
 * free. In each iteration of the loop, every row reads one token. If rows outgrow the memory, the
 * newest rows are taken back, and their choices restart later. The result of a request depends only
 * on its prompt, options, seed and weights, never on other requests.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

import { ModelError, TrinityError, EngineError, InvariantError } from '@trinity-rft/core';
import type { SampledSequence } from '@trinity-rft/core/engine';

import type { TokenBytes } from '../model/token-bytes.js';
import type { WeightLease } from '../model/weights.js';
import {
  createChoice,
  failRequest,
  isDone,
  releasePrefix,
  type Choice,
  type Request,
  type TokenReport,
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
  /** Maximum number of sequences that are sampled at once. */
  readonly maxBatchSize: number;
  /** Maximum size in bytes of keys, values and states. */
  readonly cacheBytes: number;
  /** Maximum number of waiting requests. */
  readonly maxQueue: number;
  readonly tokenBytes?: TokenBytes;
  /**
   * Executes an iteration of the loop when the thread is free for the sampler.
   * @default the iteration is executed immediately
   */
  readonly turn?: (run: () => Promise<void>) => Promise<void>;
}

/** Leased weights with their policy version, from which sequences are sampled. */
export interface SamplingWeights extends WeightLease {
  readonly version: number;
}

export interface SampleTicket {
  readonly result: Promise<readonly SampledSequence[]>;
  /**
   * Rejects the request with `error`. Its rows are freed after the current iteration of the loop.
   */
  cancel(error: TrinityError): void;
}

/**
 * Returns the next weights. The function may call `releaseCurrent` to release the current weights,
 * which no sequence uses at that time. If it fails after this, the sampler cannot continue.
 */
type WeightSwitch = (releaseCurrent: () => void) => SamplingWeights | Promise<SamplingWeights>;

/**
 * A queued change of weights. Requests submitted before the change get the old weights, and later
 * requests get the new weights.
 */
interface Switch {
  readonly take: WeightSwitch;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  /** Callers of `borrow` that wait for the weights after this change. */
  readonly borrowers: Borrower[];
}

type Borrower = Pick<PromiseWithResolvers<SamplingWeights>, 'resolve' | 'reject'>;

/**
 * Maximum number of prompt tokens per iteration, unless a single prompt is longer. The limit keeps
 * new prompts from delaying sequences that are already being generated.
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

  /** Number of tokens sampled so far, including those of cancelled requests. */
  get sampledTokens(): number {
    return this.#sampledTokens;
  }

  submit(plan: SamplePlan, onToken?: TokenReport): SampleTicket {
    const { promise, resolve, reject } = Promise.withResolvers<readonly SampledSequence[]>();
    const results = Array.from({ length: plan.choices }, () => undefined);
    const request: Request = {
      plan,
      waiting: results.map((_, index) => index),
      drawn: results.map(() => 0),
      policyVersion: NaN,
      results,
      settled: false,
      onToken,
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
   * Switches weights once every earlier request has completed. Later requests wait for the switch.
   * The order of the calls alone therefore determines the weights of a request.
   */
  adopt(take: Switch['take']): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (this.#closed !== undefined) reject(this.#closed);
    else this.#queue.push({ take, resolve, reject, borrowers: [] });
    this.#wake();
    return promise;
  }

  /**
   * Resolves with a lease on the weights that a request submitted now would get, for use outside
   * the sampler.
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

  /** Rejects all open requests and later calls with `error`. Resolves when the loop has ended. */
  async close(error: TrinityError): Promise<void> {
    this.#rejectAll(error);
    await this.#loop;
    this.#cache.clear();
    this.#weights.release();
  }

  #rejectAll(error: TrinityError): void {
    this.#closed ??= error;
    for (const request of this.#openRequests()) failRequest(request, error);
    for (const entry of this.#queue.filter(isSwitch))
      for (const waiting of [entry, ...entry.borrowers]) waiting.reject(error);
    this.#queue = [];
  }

  #wake(): void {
    this.#loop ??= this.#runLoop();
  }

  async #runLoop(): Promise<void> {
    // Requests that were sent together arrive within one turn of the event loop. They should share
    // graph executions from the first token on.
    await nextTurn();
    while (this.#queue.length + this.#choices.length > 0) {
      try {
        await this.#switchWeights();
        await this.#turn(async () => {
          this.#takeBack();
          await this.#admit();
          await this.#decode();
        });
      } catch (cause) {
        this.#failStarted(
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
      let isReleased = false;
      try {
        const weights = await next.take(() => {
          isReleased = true;
          this.#weights.release();
        });
        this.#weights.release();
        this.#weights = weights;
        next.resolve();
      } catch (error) {
        next.reject(error);
        if (isReleased) return this.#endWith(error);
      }
      // Dequeue only now, so that concurrent borrow() calls get the new weights.
      this.#queue.shift();
      for (const borrower of next.borrowers) borrower.resolve(this.#lend());
    }
  }

  /** Ends the sampler with an unrecoverable error, because the old weights are already released. */
  #endWith(cause: unknown): void {
    const error = new EngineError(
      'The weights to sample from were lost while new ones were written. Open the engine again.',
      { code: 'ENGINE_WORKER_DIED', cause },
    );
    this.#rejectAll(error);
  }

  /** Assigns free rows to waiting choices, in order, and reads the prompts of their requests. */
  async #admit(): Promise<void> {
    this.#queue = this.#queue.filter((entry) => isSwitch(entry) || !entry.settled);
    const admissions = this.#planAdmissions();
    if (admissions.length === 0) return;
    const fresh = admissions.map(({ request }) => request).filter((each) => !each.prefix);
    for (const request of fresh) request.policyVersion = this.#weights.version;
    await prefillPrompts(this.#kernels, this.#weights.set.arrays, fresh);
    const byPool = Map.groupBy(admissions, ({ request }) => this.#cache.firstPool(request.plan));
    for (const [pool, group] of byPool) {
      pool.reserve(group.reduce((sum, { count }) => sum + count, 0));
      for (const { request, count } of group) this.#start(request, count, pool);
    }
    this.#queue = this.#queue.filter((entry) => isSwitch(entry) || entry.waiting.length > 0);
    this.#regroupNeeded = true;
  }

  /**
   * Selects the choices of waiting requests that fit into the free rows, the memory and the prompt
   * tokens of one iteration.
   */
  #planAdmissions(): readonly Admission[] {
    const { maxBatchSize, cacheBytes } = this.#options;
    const admissions: Admission[] = [];
    let rows = this.#choices.length;
    let bytes = this.#neededBytes();
    let promptTokens = 0;
    for (const request of this.#queue) {
      if (isSwitch(request)) break;
      const { plan, drawn, waiting } = request;
      const longest = waiting.reduce((most, index) => Math.max(most, drawn[index]!), 0);
      const rowBytes = this.#cache.neededBytes(plan, longest);
      const room = Math.min(maxBatchSize - rows, Math.floor((cacheBytes - bytes) / rowBytes));
      // One sequence is always admitted, however large it is.
      const count = Math.min(waiting.length, rows === 0 ? Math.max(1, room) : room);
      const exceedsPrefill =
        promptTokens > 0 && promptTokens + plan.prompt.length > prefillTokensPerTurn;
      if (count <= 0 || exceedsPrefill) break;
      admissions.push({ request, count });
      rows += count;
      bytes += count * rowBytes;
      if (!request.prefix) promptTokens += plan.prompt.length;
      if (count < waiting.length) break;
    }
    return admissions;
  }

  /** Returns the number of bytes that the running choices need. */
  #neededBytes(): number {
    return this.#choices.reduce(
      (sum, { request: { plan, drawn }, index, tokens }) =>
        sum + this.#cache.neededBytes(plan, Math.max(drawn[index]!, tokens.length)),
      0,
    );
  }

  /**
   * Takes rows back from the newest choices until the others fit into the memory. The oldest choice
   * always keeps its row.
   */
  #takeBack(): void {
    while (this.#choices.length > 1 && this.#neededBytes() > this.#options.cacheBytes) {
      const choice = this.#choices.pop()!;
      const { request, index, tokens } = choice;
      choice.pool.remove(choice);
      request.drawn[index] = Math.max(request.drawn[index]!, tokens.length);
      request.waiting.unshift(index);
      if (!this.#queue.includes(request)) this.#queue.unshift(request);
      this.#regroupNeeded = true;
    }
  }

  /** Starts the next `count` waiting choices of a request in rows of a pool. */
  #start(request: Request, count: number, pool: KvPool): void {
    const { plan, waiting, prefix } = request;
    for (const index of waiting.splice(0, count)) {
      const choice = createChoice(request, index, pool, this.#texts);
      pool.add(choice);
      if (prefix === undefined) pool.clear(choice);
      else pool.storePrompt(choice, prefix.data, prefix.index, plan.prompt.length - 1);
      this.#choices.push(choice);
    }
    if (waiting.length === 0) releasePrefix(request);
  }

  async #decode(): Promise<void> {
    this.#regroup();
    for (const pool of this.#cache.pools())
      await decodeRows(this.#kernels, this.#weights.set.arrays, pool);
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
   * Rejects all open requests that have started, or all open requests if none has started. Also
   * clears the cache, because it may contain numbers that are not finite.
   */
  #failStarted(error: TrinityError): void {
    const open = this.#openRequests();
    // If no request has started, the failure came from starting a request, and the next attempt
    // would fail too.
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

/** Number of further choices of a request that get rows in this iteration. */
interface Admission {
  readonly request: Request;
  readonly count: number;
}

function isSwitch(entry: Request | Switch): entry is Switch {
  return !isRequest(entry);
}

function isRequest(entry: Request | Switch): entry is Request {
  return 'plan' in entry;
}

function isStarted(request: Request): boolean {
  return !Number.isNaN(request.policyVersion);
}

function queueFull(maxQueue: number): ModelError {
  return new ModelError(
    `${maxQueue} sampling requests are waiting already; wait for some of them before sending more.`,
    {
      status: 503,
      code: 'queue_full',
      retryable: true,
      details: { retryAfter: 1 },
    },
  );
}
