/**
 * Keys, values and states of the sequences that are being sampled. JavaScript owns them, because the
 * runtime copies everything that it returns. A pool holds rows of one capacity for one graph,
 * without gaps, so the tensors of a run are views of its arrays.
 */
import { Tensor } from 'onnxruntime-node';

import { layersWith, type ModelConfig } from '../model/config.js';
import { rowStates } from '../model/row-states.js';
import type { DecodeVariant } from '../model/sampling-graphs.js';
import type { Feeds } from '../model/weights.js';
import type { NewPositions } from './kernels.js';
import { StateRows } from './state-rows.js';

/** The owner of a row in a pool. */
export interface KvOwner {
  /** Number of tokens whose keys and values are stored. */
  cached: number;
  pool: KvPool;
  row: number;
}

/** Sizes of one row. */
interface Layout {
  /** Number of key and value heads. */
  readonly heads: number;
  /** Width of a head. */
  readonly width: number;
  /** Names of the arrays with keys and values of each layer that has them: `k.0, v.0, k.1 ...`. */
  readonly names: readonly string[];
}

export class KvPool {
  readonly variant: DecodeVariant;
  /** Number of positions per row. */
  readonly capacity: number;
  /** The owner of each row. */
  readonly owners: KvOwner[] = [];
  readonly #layout: Layout;
  readonly #margin: number;
  readonly #states: StateRows;
  #arrays: Float32Array[];
  #rows = 0;
  #tensors = new Map<string, Feeds>();

  /** @param margin number of rows beyond the last owner that a run may use */
  constructor(config: ModelConfig, variant: DecodeVariant, capacity: number, margin: number) {
    this.variant = variant;
    this.capacity = capacity;
    this.#margin = margin;
    const names = cacheNames(config);
    this.#layout = { heads: config.kvHeads, width: config.headDim, names };
    this.#states = new StateRows(rowStates(config));
    this.#arrays = names.map(() => new Float32Array(0));
  }

  /** Makes room for `count` more rows in one step. */
  reserve(count: number): void {
    const wanted = this.owners.length + count + this.#margin;
    if (wanted <= this.#rows) return;
    this.#rows = Math.max(wanted, Math.ceil(this.#rows * 1.5));
    const size = this.#rows * this.#rowSize;
    this.#arrays = this.#arrays.map((old) => {
      const larger = new Float32Array(size);
      larger.set(old);
      return larger;
    });
    this.#states.grow(this.#rows);
    this.#tensors.clear();
  }

  /** Gives the next free row to `owner`. */
  add(owner: KvOwner): void {
    this.reserve(1);
    owner.pool = this;
    owner.row = this.owners.length;
    this.owners.push(owner);
  }

  /** Frees a row; the last row moves into its place. */
  remove(owner: KvOwner): void {
    const last = this.owners.pop()!;
    if (last === owner) return;
    this.#copyRow(last, owner.row);
    last.row = owner.row;
    this.owners[owner.row] = last;
  }

  /** Moves a row here from another pool. */
  take(owner: KvOwner): void {
    this.reserve(1);
    this.#copyRow(owner, this.owners.length);
    owner.pool.remove(owner);
    this.add(owner);
  }

  /**
   * Overwrites a row with zeros, with which a sequence begins. A freed row must stay finite, because
   * attention multiplies it by 0.
   */
  clear(owner: KvOwner): void {
    for (const array of this.#arrays)
      array.fill(0, owner.row * this.#rowSize, (owner.row + 1) * this.#rowSize);
    this.#states.clear(owner.row);
  }

  /**
   * Stores positions `[0, length)` of a prompt, and the states after all of them.
   * @param index row of `source`
   * @param stride positions of `source`
   */
  storePrompt(
    owner: KvOwner,
    { keyValues, states }: NewPositions,
    index: number,
    stride: number,
    length: number,
  ): void {
    const { heads, width } = this.#layout;
    this.#arrays.forEach((array, a) => {
      for (let head = 0; head < heads; head++) {
        const from = ((index * this.#arrays.length + a) * heads + head) * stride * width;
        array.set(keyValues.subarray(from, from + length * width), this.#at(owner.row, head, 0));
      }
    });
    this.#states.store(owner.row, states, index);
    owner.cached = length;
  }

  /**
   * Stores one further position, and the states after it.
   * @param index row of `source`
   */
  append(owner: KvOwner, { keyValues, states }: NewPositions, index: number): void {
    const { heads, width } = this.#layout;
    let from = index * this.#arrays.length * heads * width;
    for (const array of this.#arrays) {
      for (let head = 0; head < heads; head++) {
        const to = this.#at(owner.row, head, owner.cached);
        // A loop: for so few numbers it is several times faster than set(subarray).
        for (let i = 0; i < width; i++) array[to + i] = keyValues[from + i]!;
        from += width;
      }
    }
    this.#states.store(owner.row, states, index);
    owner.cached++;
  }

  /** The inputs `k.<l>` and `v.<l>`, and those of states, for `count` rows from `start` on. */
  feeds(start: number, count: number): Feeds {
    const key = `${start}+${count}`;
    let feeds = this.#tensors.get(key);
    if (feeds === undefined) {
      const { heads, width, names } = this.#layout;
      const [from, to] = [start * this.#rowSize, (start + count) * this.#rowSize];
      const shape = [count, heads, this.capacity, width];
      const keyValues = names.map((name, i) => {
        const rows = this.#arrays[i]!.subarray(from, to);
        return [name, new Tensor('float32', rows, shape)] as const;
      });
      feeds = { ...Object.fromEntries(keyValues), ...this.#states.feeds(start, count) };
      if (this.#tensors.size >= 64) this.#tensors.clear();
      this.#tensors.set(key, feeds);
    }
    return feeds;
  }

  /** Memory of all rows, with or without an owner. */
  get bytes(): number {
    return 4 * this.#rows * (this.#arrays.length * this.#rowSize + this.#states.rowSize);
  }

  get #rowSize(): number {
    return this.#layout.heads * this.capacity * this.#layout.width;
  }

  #at(row: number, head: number, position: number): number {
    return ((row * this.#layout.heads + head) * this.capacity + position) * this.#layout.width;
  }

  /** Copies the cached positions of `owner` from its pool and row to row `to` of this pool. */
  #copyRow(owner: KvOwner, to: number): void {
    const { heads, width } = this.#layout;
    const from = owner.pool;
    this.#arrays.forEach((array, a) => {
      for (let head = 0; head < heads; head++) {
        const start = from.#at(owner.row, head, 0);
        array.set(
          from.#arrays[a]!.subarray(start, start + owner.cached * width),
          this.#at(to, head, 0),
        );
      }
    });
    this.#states.copy(to, from.#states, owner.row);
  }
}

/** Names of the inputs with keys and values. */
export function cacheNames(config: ModelConfig): readonly string[] {
  return layersWith(config, 'attention').flatMap((layer) => [`k.${layer}`, `v.${layer}`]);
}
