/** States of the rows of a pool, beside their keys and values. */
import { Tensor } from 'onnxruntime-node';

import { stateSize, type RowState } from '../model/row-states.js';
import type { Feeds } from '../model/weights.js';

/** One state of all rows. */
interface Stored extends RowState {
  /** Numbers of one row. */
  readonly size: number;
  data: Float32Array;
}

export class StateRows {
  readonly #states: readonly Stored[];

  constructor(states: readonly RowState[]) {
    this.#states = states.map((state) => ({
      ...state,
      size: stateSize(state),
      data: new Float32Array(0),
    }));
  }

  /** Numbers of all states of a row. */
  get rowSize(): number {
    return this.#states.reduce((sum, { size }) => sum + size, 0);
  }

  /** Makes room for this number of rows, and keeps those that there are. */
  grow(rows: number): void {
    for (const state of this.#states) {
      const larger = new Float32Array(rows * state.size);
      larger.set(state.data);
      state.data = larger;
    }
  }

  clear(row: number): void {
    for (const { data, size } of this.#states) data.fill(0, row * size, (row + 1) * size);
  }

  /** @param sources one array per state; row `index` of each is stored */
  store(row: number, sources: readonly Float32Array[], index: number): void {
    for (const [i, { data, size }] of this.#states.entries())
      data.set(sources[i]!.subarray(index * size, (index + 1) * size), row * size);
  }

  copy(row: number, from: StateRows, index: number): void {
    this.store(
      row,
      from.#states.map(({ data }) => data),
      index,
    );
  }

  /** An input for each state: `count` rows from `start` on. */
  feeds(start: number, count: number): Feeds {
    return Object.fromEntries(
      this.#states.map(({ name, shape, size, data }) => {
        const rows = data.subarray(start * size, (start + count) * size);
        return [name, new Tensor('float32', rows, [count, ...shape])];
      }),
    );
  }
}
