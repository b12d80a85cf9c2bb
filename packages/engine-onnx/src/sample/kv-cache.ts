/**
 * The pools of all sequences: which one a sequence belongs in, and how much memory they may take
 * together.
 */
import type { DecodeVariant } from '../model/sampling-graphs.js';
import { capacityFor, planCapacities } from './capacity.js';
import type { Choice } from './choice.js';
import type { SamplerKernels } from './kernels.js';
import { KvPool } from './kv-pool.js';
import type { SamplePlan } from './plan.js';

/** What starting a run costs, in bytes of memory traffic of the same time. */
const runOverheadBytes = 4 << 20;

export class KvCache {
  readonly #kernels: SamplerKernels;
  readonly #bytes: number;
  readonly #pools = new Map<string, KvPool>();

  /** @param bytes that the caller means to stay within, see {@link rowBytes} */
  constructor(kernels: SamplerKernels, bytes: number) {
    this.#kernels = kernels;
    this.#bytes = bytes;
  }

  /** Those that hold sequences. */
  pools(): KvPool[] {
    return [...this.#pools.values()].filter((pool) => pool.owners.length > 0);
  }

  /** Where a sequence begins. */
  firstPool(plan: SamplePlan): KvPool {
    return this.#pool(plan.variant, capacityFor(plan.prompt.length));
  }

  /** What a sequence may need at its longest. */
  rowBytes(plan: SamplePlan): number {
    return capacityFor(plan.prompt.length + plan.maxTokens) * this.#positionBytes;
  }

  /**
   * Moves sequences to the pools they belong in now; each has room for one more position
   * afterwards.
   */
  regroup(choices: readonly Choice[]): void {
    const costs = {
      runBytes: this.#kernels.weightBytes + runOverheadBytes,
      positionBytes: this.#positionBytes,
    };
    for (const [variant, group] of Map.groupBy(choices, (choice) => choice.request.plan.variant)) {
      const capacities = planCapacities(
        group.map((choice) => choice.cached + 1),
        costs,
      );
      const moves = group.map((choice, i) => ({ choice, capacity: capacities[i]! }));
      const needed = moves.filter(({ choice, capacity }) => choice.pool.capacity !== capacity);
      for (const [capacity, movers] of Map.groupBy(needed, (move) => move.capacity)) {
        const pool = this.#pool(variant, capacity);
        pool.reserve(movers.length);
        for (const { choice } of movers) pool.take(choice);
      }
    }
    this.#dropEmptyPools();
  }

  clear(): void {
    this.#pools.clear();
  }

  #pool(variant: DecodeVariant, capacity: number): KvPool {
    const key = `${variant} ${capacity}`;
    const pool =
      this.#pools.get(key) ??
      new KvPool(this.#kernels.config, variant, capacity, this.#kernels.window.min);
    this.#pools.set(key, pool);
    return pool;
  }

  /**
   * Empty pools are kept for the next sequences of their length, as long as all pools together take
   * half the memory at most.
   */
  #dropEmptyPools(): void {
    let bytes = this.#pools.values().reduce((sum, pool) => sum + pool.bytes, 0);
    for (const [key, pool] of this.#pools) {
      if (bytes <= this.#bytes / 2) return;
      if (pool.owners.length > 0) continue;
      bytes -= pool.bytes;
      this.#pools.delete(key);
    }
  }

  get #positionBytes(): number {
    const { layers, kvHeads, headDim } = this.#kernels.config;
    return 4 * 2 * layers * kvHeads * headDim;
  }
}
