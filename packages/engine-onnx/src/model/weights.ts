/**
 * Weight arrays that trainer and sampler share without copies: a set has owners, and a step never
 * overwrites a set in use.
 */
import { EngineError } from '@trinity-rft/core';
import { Tensor } from 'onnxruntime-node';
import { sharedNumbers } from '../runtime/shared-numbers.js';
import type { ModelConfig } from './config.js';
import { parameterSpecs, type ParameterSpec } from './parameters.js';

/** Named inputs of a session. */
export type Feeds = Readonly<Record<string, Tensor>>;

/** One complete set of parameters, or of the adapters of a model whose parameters never change. */
export interface WeightSet {
  /** All of them, in order. */
  readonly flat: Float32Array;
  /** Views of {@link flat}, one per parameter. */
  readonly feeds: Feeds;
}

/** Keeps a set unchanged until it is released. */
export interface WeightLease extends WeightSet {
  /** Another lease on the same set. */
  share(): WeightLease;
  /** Returns the set; a second call has no effect. */
  release(): void;
}

/** The published set, which may still have to be written. */
export interface PublishedWeights {
  readonly isWritten: boolean;
  /** Materialises the weights, reusing the previous buffer if it is no longer leased. To be called once. */
  lease(): Promise<WeightLease>;
}

/** Replaces the numbers of a set: `to` gets all new ones, and may be the same array as `from`. */
type Rewrite = (from: Float32Array, to: Float32Array) => Promise<void>;

/**
 * The weights of one model. The trainer's set is `training`; other users lease a set. A step writes in
 * place while the training set is not leased, otherwise into a free set, which then becomes the
 * training set. So publishing and adopting never copy, and there is at most one set more than
 * distinct leased ones.
 */
export class WeightBuffers {
  readonly #specs: readonly ParameterSpec[];
  readonly #leases = new Map<WeightSet, number>();
  readonly #free: WeightSet[] = [];
  #training: WeightSet;
  #published: WeightLease | 'due' | undefined;
  #reference: WeightSet | undefined;
  #rewriting: Promise<void> | undefined;
  /** Writes the training weights on first use. */
  #due: Rewrite | undefined;
  /** Queue of the borrowers of the training weights that are due. */
  #waiting: PromiseWithResolvers<WeightLease>[] = [];

  /**
   * @param initial becomes the training set; it is not copied.
   * @param specs what a set is made of. @default all parameters
   * @throws EngineError when its length does not fit
   */
  constructor(config: ModelConfig, initial: Float32Array, specs = parameterSpecs(config)) {
    this.#specs = specs;
    this.#training = weightSet(specs, initial);
  }

  /** The weights of the next gradients, once {@link settled}. Valid until the next step. */
  get training(): WeightSet {
    return this.#training;
  }

  /** The frozen reference. @throws EngineError when there is none */
  get reference(): WeightSet {
    if (!this.#reference) {
      throw new EngineError(
        'The engine was opened without reference weights; open it with a reference model, or set ' +
          'the KL coefficient to 0.',
        { code: 'ENGINE_NO_REFERENCE' },
      );
    }
    return this.#reference;
  }

  /** Freezes reference weights; they are not copied. */
  setReference(flat: Float32Array): void {
    this.#reference = weightSet(this.#specs, flat);
  }

  /** Keeps a set unchanged: the current training set, or the given one. */
  lease(set: WeightSet = this.#training): WeightLease {
    this.#leases.set(set, (this.#leases.get(set) ?? 0) + 1);
    let held = true;
    return {
      flat: set.flat,
      feeds: set.feeds,
      share: () => this.lease(set),
      release: () => {
        if (held) this.#release(set);
        held = false;
      },
    };
  }

  /** Publishes the training set. No copy: the next step writes into another set. */
  publish(): void {
    if (typeof this.#published === 'object') this.#published.release();
    this.#published = this.#due ? 'due' : this.lease();
  }

  /**
   * The set that is published now, for the sampler, whatever is published later.
   * @throws EngineError when nothing was published yet
   */
  leasePublished(): PublishedWeights {
    if (this.#published === undefined)
      throw new EngineError(
        'No weights have been published yet; publish a version before adopting it.',
        { code: 'ENGINE_NOT_PUBLISHED' },
      );
    if (this.#published !== 'due') {
      const lease = this.#published.share();
      return { isWritten: true, lease: () => Promise.resolve(lease) };
    }
    const waiting = Promise.withResolvers<WeightLease>();
    this.#waiting.push(waiting);
    // The caller that causes the failure gets the error, too.
    waiting.promise.catch(() => undefined);
    return {
      isWritten: false,
      lease: async () => {
        await this.settled();
        return waiting.promise;
      },
    };
  }

  /**
   * A set without a user, for weights read from a checkpoint; it is freed with its lease. Its
   * contents are arbitrary.
   */
  leaseEmpty(): WeightLease {
    return this.lease(this.#take());
  }

  /** An unused array of the size of all parameters, of any contents; {@link rewrite} takes it back. */
  takeArray(): Float32Array {
    return this.#take().flat;
  }

  /**
   * Replaces the training weights: `write` gets the old numbers and the array for the new ones, and
   * fills every element. Both are the same array while the set is not leased.
   */
  update(write: (from: Float32Array, to: Float32Array) => void): void {
    const from = this.#training;
    const to = this.#leases.has(from) ? this.#take() : from;
    write(from.flat, to.flat);
    this.#training = to;
  }

  /**
   * Replaces the training weights by reading them: `read` fills every element of an unused array.
   * When it fails, the training weights stay unchanged.
   */
  async replace(read: (to: Float32Array) => Promise<void>): Promise<void> {
    const set = this.#take();
    await read(set.flat);
    const old = this.#training;
    this.#training = set;
    if (!this.#leases.has(old)) this.#recycle(old);
  }

  /**
   * Like {@link update}, in several turns of the thread. Leases on the current training set are taken after
   * {@link settled}.
   * @param spare an array of {@link takeArray} that the new numbers may overwrite
   */
  rewrite(write: Rewrite, spare?: Float32Array): Promise<void> {
    return this.#whileRewriting(() => this.#write(write, spare));
  }

  /**
   * Like {@link rewrite}, when the training weights are needed. `write` may run again after it has failed. Until then
   * the set before stays with those who lease it; if they have released it by then, no second set is needed.
   */
  rewriteLater(write: Rewrite): void {
    this.#due = write;
  }

  /** Once the training weights are written. @throws what {@link rewriteLater} threw */
  async settled(): Promise<void> {
    while (this.#rewriting ?? this.#due) {
      if (this.#rewriting) await this.#rewriting.catch(() => undefined);
      else if (this.#due) await this.#writeDue(this.#due);
    }
  }

  #writeDue(due: Rewrite): Promise<void> {
    return this.#whileRewriting(async () => {
      try {
        await this.#write(due);
      } catch (error) {
        for (const { reject } of this.#waiting.splice(0)) reject(error);
        throw error;
      }
      this.#due = undefined;
      if (this.#published === 'due') this.#published = this.lease();
      for (const { resolve } of this.#waiting.splice(0)) resolve(this.lease());
    });
  }

  #whileRewriting(work: () => Promise<void>): Promise<void> {
    this.#rewriting = work().finally(() => (this.#rewriting = undefined));
    return this.#rewriting;
  }

  async #write(write: Rewrite, spare?: Float32Array): Promise<void> {
    const from = this.#training;
    const unused = spare && weightSet(this.#specs, spare);
    const to = this.#leases.has(from) ? (unused ?? this.#take()) : from;
    await write(from.flat, to.flat);
    this.#training = to;
    if (unused && to !== unused) this.#recycle(unused);
  }

  /** Sets in memory: the training set, leased ones and free ones, without the reference. */
  get count(): number {
    return new Set([this.#training, ...this.#leases.keys(), ...this.#free]).size;
  }

  #take(): WeightSet {
    return this.#free.pop() ?? weightSet(this.#specs, sharedNumbers(countOf(this.#specs)));
  }

  #release(set: WeightSet): void {
    const left = (this.#leases.get(set) ?? 1) - 1;
    if (left > 0) {
      this.#leases.set(set, left);
      return;
    }
    this.#leases.delete(set);
    if (set !== this.#training) this.#recycle(set);
  }

  /** Alternating between two sets needs one spare; more would waste memory. */
  #recycle(set: WeightSet): void {
    if (this.#free.length === 0) this.#free.push(set);
  }
}

const countOf = (specs: readonly ParameterSpec[]): number =>
  specs.reduce((sum, { size }) => sum + size, 0);

function weightSet(specs: readonly ParameterSpec[], flat: Float32Array): WeightSet {
  const count = countOf(specs);
  if (flat.length !== count) {
    throw new EngineError(
      `The weights have ${flat.length} numbers, but the model has ${count} parameters; load weights ` +
        'of the same config.',
      { code: 'ENGINE_WEIGHTS' },
    );
  }
  const feeds: Record<string, Tensor> = {};
  for (const { name, shape, offset, size } of specs) {
    feeds[name] = new Tensor('float32', flat.subarray(offset, offset + size), shape);
  }
  return { flat, feeds };
}
