/**
 * Keeps keys, values and states of rows in JavaScript arrays, because ONNX Runtime copies
 * everything that it returns. The inputs of a graph are views of these arrays.
 */
import { InvariantError } from '@trinity-rft/core';

import type { CacheLayout, Feeds, NewPositions, RowCache, RowMove } from './graph-runtime.js';
import { floatArray, floatsOf, sizeOf } from './onnx-arrays.js';

/** One input of a graph, for all rows. */
interface Stored {
  readonly name: string;
  /** Shape of one row. */
  readonly shape: readonly number[];
  readonly size: number;
  data: Float32Array;
}

/** Keys or values of a layer. */
interface KeyValue extends Stored {
  /** Width of a head. */
  readonly width: number;
}

/** Maximum number of views of row ranges that are kept for reuse. */
const mostViews = 64;

export class OnnxCache implements RowCache {
  readonly #layout: CacheLayout;
  readonly #keyValues: readonly KeyValue[];
  readonly #states: readonly Stored[];
  readonly #views = new Map<string, Feeds>();

  constructor(layout: CacheLayout) {
    const { inputs, heads, capacity, states } = layout;
    const stored = (name: string, shape: readonly number[]): Stored => ({
      name,
      shape,
      size: sizeOf(shape),
      data: new Float32Array(0),
    });
    this.#layout = layout;
    this.#keyValues = inputs.map(({ name, width }) => ({
      ...stored(name, [heads, capacity, width]),
      width,
    }));
    this.#states = states.map(({ name, shape }) => stored(name, shape));
  }

  reserve(rows: number): void {
    for (const each of this.#all) {
      const larger = new Float32Array(rows * each.size);
      larger.set(each.data);
      each.data = larger;
    }
    this.#views.clear();
  }

  clear(row: number): void {
    for (const { data, size } of this.#all) data.fill(0, row * size, (row + 1) * size);
  }

  store(fresh: NewPositions, moves: readonly RowMove[]): void {
    const { heads } = this.#layout;
    const source = floatsOf(fresh.keyValues);
    const [, ...row] = fresh.keyValues.shape;
    const positions = row[1]!;
    for (const { from, to, position, length } of moves) {
      let at = from * sizeOf(row);
      for (const { data, width } of this.#keyValues) {
        for (let head = 0; head < heads; head++, at += positions * width)
          put(data, width * this.#at(to, head, position), source, at, length * width);
      }
    }
    this.#storeStates(fresh.states.map(floatsOf), moves);
  }

  copy(from: RowCache, moves: readonly RowMove[]): void {
    if (!(from instanceof OnnxCache))
      throw new InvariantError('A cache of another runtime was given to ONNX Runtime.');
    const { heads } = this.#layout;
    for (const { from: row, to, position, length } of moves) {
      for (const [i, { data, width }] of this.#keyValues.entries()) {
        const source = from.#keyValues[i]!.data;
        for (let head = 0; head < heads; head++) {
          const [at, start] = [this.#at(to, head, position), from.#at(row, head, 0)];
          put(data, width * at, source, width * start, length * width);
        }
      }
    }
    this.#storeStates(
      from.#states.map(({ data }) => data),
      moves,
    );
  }

  feeds(start: number, count: number): Feeds {
    const key = `${start}+${count}`;
    const known = this.#views.get(key);
    if (known) return known;
    const feeds = Object.fromEntries(
      this.#all.map(({ name, shape, size, data }) => {
        const rows = data.subarray(start * size, (start + count) * size);
        return [name, floatArray(rows, [count, ...shape])];
      }),
    );
    if (this.#views.size >= mostViews) this.#views.clear();
    this.#views.set(key, feeds);
    return feeds;
  }

  /** No-op: the garbage collector frees the arrays. */
  free(): void {}

  get #all(): readonly Stored[] {
    return [...this.#keyValues, ...this.#states];
  }

  #storeStates(sources: readonly Float32Array[], moves: readonly RowMove[]): void {
    for (const [i, { data, size }] of this.#states.entries())
      for (const { from, to } of moves)
        data.set(sources[i]!.subarray(from * size, (from + 1) * size), to * size);
  }

  /** Returns the index of a position of a head, counted over all rows and heads. */
  #at(row: number, head: number, position: number): number {
    const { heads, capacity } = this.#layout;
    return (row * heads + head) * capacity + position;
  }
}

/**
 * Number of elements below which copying in a loop is several times faster than `set(subarray)`.
 */
const fewNumbers = 256;

function put(to: Float32Array, at: number, from: Float32Array, start: number, count: number): void {
  if (count >= fewNumbers) to.set(from.subarray(start, start + count), at);
  else for (let i = 0; i < count; i++) to[at + i] = from[start + i]!;
}
