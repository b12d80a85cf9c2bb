/** KV cache on a device: the keys, values and recurrent states of each row. */
import { InvariantError } from '@trinity-rft/core';
import type {
  CacheLayout,
  Feeds,
  NewPositions,
  RowCache,
  RowMove,
} from '@trinity-rft/engine-onnx/graph-runtime';
import { sizeOf } from '../kernels/loop.js';
import { movedRows, type CacheRows } from '../kernels/updates.js';
import { BufferArray, ownArray } from './array.js';
import type { BufferPart } from './commands.js';
import { dispatchOnce, withScratch, type Machine, type Scratch } from './machine.js';

/**
 * A graph input whose array is stored in the cache, with shape [rows, heads, positions, width]. The
 * state of a recurrent layer has one head and one position.
 */
interface Entry {
  readonly name: string;
  readonly shape: readonly number[];
  readonly heads: number;
  readonly positions: number;
  readonly width: number;
  readonly isState: boolean;
}

/** Buffer and layout of elements that are copied into the cache. */
interface Source {
  readonly part: BufferPart;
  readonly place: CacheRows;
}

export class DeviceCache implements RowCache {
  readonly #machine: Machine;
  readonly #layout: CacheLayout;
  readonly #entries: readonly Entry[];
  readonly #buffers: GPUBuffer[] = [];
  #rows = 0;

  constructor(machine: Machine, layout: CacheLayout) {
    const { inputs, heads, capacity: positions, states } = layout;
    this.#machine = machine;
    this.#layout = layout;
    this.#entries = [
      ...inputs.map(({ name, width }) => ({
        name,
        shape: [heads, positions, width],
        heads,
        positions,
        width,
        isState: false,
      })),
      ...states.map(({ name, shape }) => ({
        name,
        shape,
        heads: 1,
        positions: 1,
        width: sizeOf(shape),
        isState: true,
      })),
    ];
  }

  reserve(rows: number): void {
    if (rows <= this.#rows) return;
    const { memory, commands } = this.#machine;
    for (const [i, { shape }] of this.#entries.entries()) {
      const row = 4 * sizeOf(shape);
      const [bytes, kept] = [rows * row, this.#rows * row];
      const buffer = memory.take(bytes);
      const old = this.#buffers[i];
      if (old) {
        commands.copy({ buffer: old, offset: 0, bytes: kept }, { buffer, offset: 0, bytes: kept });
        memory.give(old);
      }
      commands.clear({ buffer, offset: kept, bytes: bytes - kept });
      this.#buffers[i] = buffer;
    }
    this.#rows = rows;
  }

  clear(row: number): void {
    for (const [i, { shape }] of this.#entries.entries()) {
      const bytes = 4 * sizeOf(shape);
      this.#machine.commands.clear({ buffer: this.#buffers[i]!, offset: row * bytes, bytes });
    }
  }

  store({ keyValues, states }: NewPositions, moves: readonly RowMove[]): void {
    const { inputs, heads } = this.#layout;
    const fresh = ownArray(keyValues);
    const positions = keyValues.shape[2]!;
    const row = inputs.reduce((sum, { width }) => sum + heads * positions * width, 0);
    let next = fresh.start;
    this.#move(moves, (i, { isState, width }) => {
      if (isState) return whole(ownArray(states[i - inputs.length]!));
      const start = next;
      next += heads * positions * width;
      return { part: fresh.whole, place: { row, start, positions } };
    });
  }

  copy(from: RowCache, moves: readonly RowMove[]): void {
    if (!(from instanceof DeviceCache))
      throw new InvariantError('A cache of another runtime cannot be copied to a WebGPU device.');
    if (from !== this)
      return this.#move(moves, (i) => ({ part: from.#part(i), place: placeOf(from.#entries[i]!) }));
    // One dispatch cannot read and write the same buffer. In addition, a move may read what an
    // earlier move has written.
    for (const move of moves)
      this.#move([{ ...move, from: 0 }], (i, entry, scratch) => {
        const bytes = 4 * sizeOf(entry.shape);
        const row = scratch.take(bytes);
        this.#machine.commands.copy(
          { ...row, buffer: this.#buffers[i]!, offset: move.from * bytes },
          row,
        );
        return { part: row, place: placeOf(entry) };
      });
  }

  feeds(start: number, count: number): Feeds {
    return Object.fromEntries(
      this.#entries.map(({ name, shape }, i) => {
        const array = { dtype: 'float32' as const, shape: [count, ...shape] };
        const offset = 4 * start * sizeOf(shape);
        return [name, new BufferArray(array, this.#buffers[i]!, undefined, offset)];
      }),
    );
  }

  free(): void {
    for (const buffer of this.#buffers.splice(0)) this.#machine.memory.give(buffer);
    this.#rows = 0;
  }

  #part(index: number): BufferPart {
    const bytes = 4 * this.#rows * sizeOf(this.#entries[index]!.shape);
    return { buffer: this.#buffers[index]!, offset: 0, bytes };
  }

  /**
   * Copies rows into all entries.
   * @param source returns the location of an entry's new elements; called once per entry, in order
   */
  #move(
    moves: readonly RowMove[],
    source: (index: number, entry: Entry, scratch: Scratch) => Source,
  ): void {
    if (moves.length === 0) return;
    const longest = Math.max(...moves.map(({ length }) => length));
    const numbers = moves.flatMap(({ from, to, position, length }) => [from, to, position, length]);
    withScratch(this.#machine, ({ upload }) => {
      const list = upload(Int32Array.from(numbers));
      for (const [i, entry] of this.#entries.entries()) {
        const { heads, width, isState } = entry;
        const limits = isState ? { least: 1, longest: 1 } : { least: 0, longest };
        const sizes = { moves: moves.length, heads, width, ...limits };
        withScratch(this.#machine, (scratch) => {
          const { part, place } = source(i, entry, scratch);
          const call = movedRows(sizes, place, placeOf(entry));
          dispatchOnce(this.#machine, call, [part, list, this.#part(i)]);
        });
      }
    });
  }
}

const placeOf = ({ shape, positions }: Entry): CacheRows => ({
  row: sizeOf(shape),
  start: 0,
  positions,
});

/** Returns the location of all rows of a recurrent state. */
function whole(state: BufferArray): Source {
  const row = state.size / state.shape[0]!;
  return { part: state.whole, place: { row, start: state.start, positions: 1 } };
}
