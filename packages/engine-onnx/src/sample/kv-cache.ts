/** Manages the cache pools: assigns sequences to pools and limits the memory of all pools. */
import type { DecodeVariant } from '../model/sampling-graphs.js';
import { capacityFor, planCapacities } from './capacity.js';
import type { Choice } from './choice.js';
import type { SamplerKernels } from './kernels.js';
import { KvPool, positionBytes, rowBytes } from './kv-pool.js';
import type { SamplePlan } from './plan.js';

/**
 * Cost of starting a graph execution, as the number of bytes that can be read from memory in the
 * same time.
 */
const runOverheadBytes = 4 << 20;

export class KvCache {
  readonly #kernels: SamplerKernels;
  readonly #bytes: number;
  readonly #pools = new Map<string, KvPool>();

  /**
   * Creates a cache without pools.
   * @param bytes limit on memory; callers must add up {@link rowBytes} to stay within it
   */
  constructor(kernels: SamplerKernels, bytes: number) {
    this.#kernels = kernels;
    this.#bytes = bytes;
  }

  /** Returns the pools that hold sequences. */
  pools(): KvPool[] {
    return [...this.#pools.values()].filter((pool) => pool.owners.length > 0);
  }

  /** Returns the pool in which a sequence starts. */
  firstPool(plan: SamplePlan): KvPool {
    return this.#pool(plan.variant, capacityFor(plan.prompt.length));
  }

  /** Returns the maximum number of bytes that a sequence needs. */
  rowBytes(plan: SamplePlan): number {
    return rowBytes(this.#kernels.config, capacityFor(plan.prompt.length + plan.maxTokens));
  }

  /**
   * Moves each sequence to the pool whose capacity fits its current length. Afterwards each
   * sequence has room for at least one more position.
   */
  regroup(choices: readonly Choice[]): void {
    const costs = {
      runBytes: this.#kernels.weightBytes + runOverheadBytes,
      positionBytes: positionBytes(this.#kernels.config),
    };
    for (const [variant, group] of Map.groupBy(choices, (choice) => choice.request.plan.variant)) {
      const capacities = planCapacities(
        group.map((choice) => choice.cached + 1),
        costs,
      );
      const moves = capacities
        .map((capacity, i) => ({ capacity, choice: group[i]! }))
        .filter(({ capacity, choice }) => choice.pool.capacity !== capacity);
      for (const [capacity, movers] of Map.groupBy(moves, (move) => move.capacity)) {
        const pool = this.#pool(variant, capacity);
        pool.reserve(movers.length);
        for (const { choice } of movers) pool.take(choice);
      }
    }
    this.#dropEmptyPools();
  }

  clear(): void {
    for (const pool of this.#pools.values()) pool.free();
    this.#pools.clear();
  }

  #pool(variant: DecodeVariant, capacity: number): KvPool {
    const key = `${variant} ${capacity}`;
    const { runtime, config, window } = this.#kernels;
    const pool =
      this.#pools.get(key) ??
      new KvPool(runtime, config, { variant, capacity, margin: window.min });
    this.#pools.set(key, pool);
    return pool;
  }

  /**
   * Frees empty pools until all pools together take at most half of the memory limit. Keeps the
   * other empty pools for later sequences of the same length.
   */
  #dropEmptyPools(): void {
    let bytes = this.#pools.values().reduce((sum, pool) => sum + pool.bytes, 0);
    for (const [key, pool] of this.#pools) {
      if (bytes <= this.#bytes / 2) return;
      if (pool.owners.length > 0) continue;
      bytes -= pool.bytes;
      pool.free();
      this.#pools.delete(key);
    }
  }
}
