/**
 * Stores keys, values and states of the sequences that are being sampled. The rows of a pool have
 * the same capacity, are used by the same graph, and have no gaps between them.
 */
import {
  cachedLayers,
  cacheHeads,
  cacheUnit,
  headDimOf,
  type ModelConfig,
} from '../model/config.js';
import { rowStates, stateSize } from '../model/row-states.js';
import type { DecodeVariant } from '../model/sampling-graphs.js';
import type {
  CacheLayout,
  Feeds,
  GraphRuntime,
  NewPositions,
  RowCache,
} from '../runtime/graph-runtime.js';

/** The owner of a row in a pool. */
export interface KvOwner {
  /** Number of tokens whose keys and values are stored. */
  cached: number;
  pool: KvPool;
  row: number;
}

export class KvPool {
  readonly variant: DecodeVariant;
  /** Number of positions per row. */
  readonly capacity: number;
  /** The owner of each row, by row index. */
  readonly owners: KvOwner[] = [];
  readonly #margin: number;
  readonly #cache: RowCache;
  readonly #rowBytes: number;
  #rows = 0;

  constructor(
    runtime: GraphRuntime,
    config: ModelConfig,
    { variant, capacity, margin }: PoolOptions,
  ) {
    this.variant = variant;
    this.capacity = capacity;
    this.#margin = margin;
    const { position, states } = rowSizes(config);
    this.#rowBytes = capacity * position + states;
    this.#cache = runtime.cache(cacheLayout(config, capacity));
  }

  /** Allocates `count` more rows at once. */
  reserve(count: number): void {
    const wanted = this.owners.length + count + this.#margin;
    if (wanted <= this.#rows) return;
    this.#rows = Math.max(wanted, Math.ceil(this.#rows * 1.5));
    this.#cache.reserve(this.#rows);
  }

  /** Assigns the next free row to `owner`. */
  add(owner: KvOwner): void {
    this.reserve(1);
    owner.pool = this;
    owner.row = this.owners.length;
    this.owners.push(owner);
  }

  /** Frees a row and moves the last row to its index. */
  remove(owner: KvOwner): void {
    const last = this.owners.pop()!;
    if (last === owner) return;
    this.#copyRow(last, owner.row);
    last.row = owner.row;
    this.owners[owner.row] = last;
  }

  /** Moves a row from another pool to this pool. */
  take(owner: KvOwner): void {
    this.reserve(1);
    this.#copyRow(owner, this.owners.length);
    owner.pool.remove(owner);
    this.add(owner);
  }

  /**
   * Overwrites a row with zeros, which is the initial state of a sequence. The numbers of a freed
   * row must stay finite, because attention multiplies them by 0.
   */
  clear(owner: KvOwner): void {
    this.#cache.clear(owner.row);
  }

  /**
   * Stores the first `length` positions of a prompt, and the states after them.
   * @param index row of `fresh`
   */
  storePrompt(owner: KvOwner, fresh: NewPositions, index: number, length: number): void {
    this.#cache.store(fresh, [{ from: index, to: owner.row, position: 0, length }]);
    owner.cached = length;
  }

  /**
   * Stores one more position of each owner, and the states after it.
   * @param rows maps each owner to its row in `fresh`
   */
  append(rows: ReadonlyMap<KvOwner, number>, fresh: NewPositions): void {
    const moves = [...rows].map(([{ row, cached }, from]) => ({
      from,
      to: row,
      position: cached,
      length: 1,
    }));
    this.#cache.store(fresh, moves);
    for (const owner of rows.keys()) owner.cached++;
  }

  /** Returns the graph inputs for `count` rows from `start` on: `k.<l>`, `v.<l>` and the states. */
  feeds(start: number, count: number): Feeds {
    return this.#cache.feeds(start, count);
  }

  /** Size of all rows in bytes, with or without an owner. */
  get bytes(): number {
    return this.#rows * this.#rowBytes;
  }

  free(): void {
    this.#cache.free();
  }

  /** Copies the cached positions of `owner` from its pool and row to row `to` of this pool. */
  #copyRow({ pool, row, cached }: KvOwner, to: number): void {
    this.#cache.copy(pool.#cache, [{ from: row, to, position: 0, length: cached }]);
  }
}

interface PoolOptions extends Pick<KvPool, 'variant' | 'capacity'> {
  /** Number of rows after the last owner's row that a graph execution may use as padding. */
  readonly margin: number;
}

/** Returns the layout of a cache: keys and values of each attention layer, and states. */
export const cacheLayout = (config: ModelConfig, capacity: number): CacheLayout => ({
  inputs: cachedLayers(config).flatMap((layer) =>
    ['k', 'v'].map((part) => ({ name: `${part}.${layer}`, width: headDimOf(config, layer) })),
  ),
  heads: config.kvHeads,
  capacity,
  states: rowStates(config),
});

/** Sizes in bytes of the parts of a row. */
export interface RowSizes {
  /** Keys and values of one position in all layers. */
  readonly position: number;
  readonly states: number;
}

/** Returns the sizes of a row of {@link cacheLayout}. */
export const rowSizes = (config: ModelConfig): RowSizes => ({
  position: 4 * cacheHeads(config) * cacheUnit(config),
  states: 4 * rowStates(config).reduce((sum, state) => sum + stateSize(state), 0),
});
