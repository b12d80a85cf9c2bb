/** Manages the cache pools: assigns sequences to pools and limits the memory of all pools. */
import type { DecodeVariant } from '../model/sampling-graphs.js';
import { capacityFor, planCapacities } from './capacity.js';
import type { Choice } from './choice.js';
import type { SamplerKernels } from './kernels.js';
import { KvPool, rowSizes, type RowSizes } from './kv-pool.js';
import type { SamplePlan } from './plan.js';

/**
 * Cost of starting a graph execution, as the number of bytes that can be read from memory in the
 * same time.
 */
const runOverheadBytes = 4 << 20;

/**
 * Number of sequences that share the memory at first, if each of them may become longer. With more
 * of them, more sequences run at once, and more have to restart and repeat their tokens.
 */
const sharers = 8;
/** Number of response positions that a sequence gets at first, even if its prompt takes its share. */
const firstPositions = 256;

export class KvCache {
  readonly #kernels: SamplerKernels;
  readonly #bytes: number;
  readonly #sizes: RowSizes;
  readonly #pools = new Map<string, KvPool>();

  /**
   * Creates a cache without pools.
   * @param bytes limit on memory; callers must add up {@link neededBytes} to stay within it
   */
  constructor(kernels: SamplerKernels, bytes: number) {
    this.#kernels = kernels;
    this.#bytes = bytes;
    this.#sizes = rowSizes(kernels.config);
  }

  /** Returns the pools that hold sequences. */
  pools(): KvPool[] {
    return [...this.#pools.values()].filter((pool) => pool.owners.length > 0);
  }

  /** Returns the pool in which a sequence starts. */
  firstPool(plan: SamplePlan): KvPool {
    return this.#pool(plan.variant, capacityFor(plan.prompt.length));
  }

  /**
   * Returns the number of bytes to reserve for a sequence: its share of the memory, or the size of
   * its prompt and `tokens` if that is more, but never more than it may need at most.
   * @param tokens length of the response so far, or before the sequence restarted
   */
  neededBytes({ prompt, maxTokens }: SamplePlan, tokens: number): number {
    const share = Math.floor(this.#bytes / sharers / this.#sizes.position);
    const soon = prompt.length + Math.max(firstPositions, tokens);
    const positions = Math.min(prompt.length + maxTokens, Math.max(share, soon));
    return this.#rowBytes(positions);
  }

  /**
   * Moves each sequence to the pool whose capacity fits its current length. Afterwards each
   * sequence has room for at least one more position.
   */
  regroup(choices: readonly Choice[]): void {
    const { weightBytes } = this.#kernels;
    const byVariant = Map.groupBy(choices, (choice) => choice.request.plan.variant);
    const used = choices.reduce((sum, { cached }) => sum + this.#rowBytes(cached + 1), 0);
    const costs = {
      runBytes: weightBytes + runOverheadBytes,
      positionBytes: this.#sizes.position,
      spareBytes: (this.#bytes - used) / byVariant.size,
    };
    for (const [variant, group] of byVariant) {
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

  /** Returns the size in bytes of a row that has room for this number of positions. */
  #rowBytes(positions: number): number {
    return capacityFor(positions) * this.#sizes.position + this.#sizes.states;
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
