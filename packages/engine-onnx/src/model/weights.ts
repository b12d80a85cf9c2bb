/**
 * Weight arrays that trainer and sampler share without copies. Users lease a set, and a step never
 * overwrites a leased set.
 */
import { EngineError } from '@trinity-rft/core';
import type { ArraySet, GraphRuntime } from '../runtime/graph-runtime.js';
import type { ModelConfig } from './config.js';
import { parameterSpecs, type ParameterSpec } from './parameters.js';

/** Keeps a set unchanged until the lease is released. */
export interface WeightLease {
  /** All parameters, or only the adapters if the parameters are quantised and never change. */
  readonly set: ArraySet;
  /** Takes another lease on the set. */
  share(): WeightLease;
  /** Ends the lease; a second call has no effect. */
  release(): void;
}

/** The weights that were published last. They may still have to be computed. */
export interface PublishedWeights {
  readonly isWritten: boolean;
  /** Materialises the weights, reusing the previous buffer if it is no longer leased. Call once. */
  lease(): Promise<WeightLease>;
}

/** Computes the new weights from `from`, and writes them to `to`. Both may be the same set. */
type Rewrite = (from: ArraySet, to: ArraySet) => Promise<void>;

/**
 * The weights of one model. The trainer's set is `training`; other users lease a set. A step writes
 * to `training` in place while this set is not leased. Otherwise the step writes to a free set,
 * which then becomes `training`. Publishing and adopting weights therefore never copy them. Besides
 * leased and taken sets, there are at most `training` and one free set.
 */
export class WeightBuffers {
  readonly runtime: GraphRuntime;
  readonly #specs: readonly ParameterSpec[];
  readonly #leases = new Map<ArraySet, number>();
  readonly #free: ArraySet[] = [];
  #training: ArraySet;
  #published: WeightLease | 'due' | undefined;
  #reference: ArraySet | undefined;
  #rewriting: Promise<void> | undefined;
  /** Pending rewrite of the training weights, which is executed on first use. */
  #due: Rewrite | undefined;
  /** Leases that wait for the pending rewrite. */
  #waiting: PromiseWithResolvers<WeightLease>[] = [];

  /**
   * Creates the buffers of a model.
   * @param initial becomes `training`; it is not copied.
   * @param specs tensors of a set. @default all parameters
   * @throws EngineError when the length of `initial` does not fit
   */
  constructor(
    runtime: GraphRuntime,
    config: ModelConfig,
    initial: Float32Array,
    specs = parameterSpecs(config),
  ) {
    this.runtime = runtime;
    this.#specs = specs;
    assertCount(specs, initial);
    this.#training = runtime.set(specs, initial);
  }

  /**
   * Weights for computing the next gradients. Callers must await {@link settled} before they use
   * the weights, and must not use them after the next step.
   */
  get training(): ArraySet {
    return this.#training;
  }

  /** The frozen reference. @throws EngineError when there is none */
  get reference(): ArraySet {
    if (!this.#reference) {
      throw new EngineError(
        'The engine was opened without reference weights; open it with a reference model, or set ' +
          'the KL coefficient to 0.',
        { code: 'ENGINE_NO_REFERENCE' },
      );
    }
    return this.#reference;
  }

  /**
   * Sets the frozen reference weights: an array, which is not copied, or the set of training
   * weights if it is never written to.
   */
  setReference(reference: Float32Array | ArraySet): void {
    this.#reference =
      reference instanceof Float32Array ? this.runtime.set(this.#specs, reference) : reference;
  }

  /**
   * Leases a set, which keeps it unchanged until the lease is released.
   * @param set the current training weights by default
   */
  lease(set: ArraySet = this.#training): WeightLease {
    this.#leases.set(set, (this.#leases.get(set) ?? 0) + 1);
    let held = true;
    return {
      set,
      share: () => this.lease(set),
      release: () => {
        if (held) this.#release(set);
        held = false;
      },
    };
  }

  /**
   * Publishes the training weights without copying them. The next step then writes to another set.
   */
  publish(): void {
    if (typeof this.#published === 'object') this.#published.release();
    this.#published = this.#due ? 'due' : this.lease();
  }

  /**
   * Returns a handle to the set that is currently published. The handle leases this set even if
   * another set has been published by then.
   * @throws EngineError if nothing has been published yet
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
    // Avoids an unhandled rejection, because the caller of the failed write also gets the error.
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
   * Copies the weights in `flat`, such as those of a checkpoint, to a set and leases the set.
   * Releasing the lease frees the set or keeps it for reuse.
   */
  leaseCopy(flat: Float32Array): WeightLease {
    const set = this.takeSet();
    this.#fill(set, flat);
    return this.lease(set);
  }

  /**
   * Returns an unused set with arbitrary contents. It can be passed to {@link rewrite} as `spare`.
   */
  takeSet(): ArraySet {
    return this.#free.pop() ?? this.runtime.set(this.#specs);
  }

  /** Replaces the training weights with a copy of `flat`. */
  update(flat: Float32Array): void {
    const to = this.#leases.has(this.#training) ? this.takeSet() : this.#training;
    this.#fill(to, flat);
    this.#training = to;
  }

  #fill(set: ArraySet, flat: Float32Array): void {
    try {
      this.runtime.copySet(set, flat);
    } catch (error) {
      this.#recycleUnused(set);
      throw error;
    }
  }

  /**
   * Replaces the training weights. `write` gets the set with the old weights and the set for the
   * new weights. Both are the same set unless it is leased. Callers must await {@link settled}
   * before they lease the training weights.
   * @param spare a set of {@link takeSet} that the new weights may overwrite
   */
  rewrite(write: Rewrite, spare?: ArraySet): Promise<void> {
    return this.#whileRewriting(() => this.#write(write, spare));
  }

  /**
   * Replaces the training weights as {@link rewrite} does, but calls `write` only when the new
   * weights are first needed, and again if the call failed. If all leases on the old set are
   * released before then, no second set is needed.
   */
  rewriteLater(write: Rewrite): void {
    this.#due = write;
  }

  /**
   * Resolves once the training weights are written, including by a pending {@link rewriteLater}.
   * @throws the error of the pending write
   */
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

  async #write(write: Rewrite, spare?: ArraySet): Promise<void> {
    const from = this.#training;
    const to = this.#leases.has(from) ? (spare ?? this.takeSet()) : from;
    try {
      await write(from, to);
      this.#training = to;
    } finally {
      // If the write failed, the set for the new numbers is unused, too.
      for (const set of new Set([to, spare ?? to])) this.#recycleUnused(set);
    }
  }

  /** Number of sets in memory: `training`, leased sets and free sets, without the reference. */
  get count(): number {
    return new Set([this.#training, ...this.#leases.keys(), ...this.#free]).size;
  }

  #release(set: ArraySet): void {
    const left = (this.#leases.get(set) ?? 1) - 1;
    if (left > 0) {
      this.#leases.set(set, left);
      return;
    }
    this.#leases.delete(set);
    this.#recycleUnused(set);
  }

  /**
   * Recycles a set without leases unless it is the training set. Keeps at most one free set.
   * Alternating between two sets needs one spare set, and more would waste memory.
   */
  #recycleUnused(set: ArraySet): void {
    if (set === this.#training) return;
    if (this.#free.length === 0) this.#free.push(set);
    else set.free();
  }
}

function assertCount(specs: readonly ParameterSpec[], { length }: Float32Array): void {
  const count = specs.reduce((sum, { size }) => sum + size, 0);
  if (length === count) return;
  throw new EngineError(
    `The weights have ${length} numbers, but the model has ${count} parameters; load weights of the same config.`,
    { code: 'ENGINE_WEIGHTS' },
  );
}
