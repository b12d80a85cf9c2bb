/**
 * The accumulated gradient: a flat array to which the outputs of each micro-batch are added in
 * order.
 */
import { InvariantError } from '@trinity-rft/core';
import { Tensor } from 'onnxruntime-node';

import type { ParameterSpec } from '../model/parameters.js';

/** A trained lookup table, whose gradient arrives by row. */
export interface LookupTable {
  readonly spec: ParameterSpec;
  /** True if the table is also the head, whose gradient arrives as a matrix. */
  readonly tied: boolean;
}

/** Outputs of the backward graph by name. */
export type GradientOutputs = Readonly<Record<string, { readonly data: unknown }>>;

/** Input of an update. */
export type SummedGradient = Pick<GradientSum, 'flat' | 'take'>;

export class GradientSum {
  #array: Float32Array | undefined;
  readonly #newArray: () => Float32Array;
  /** Parameters whose gradient the graph returns as a whole. */
  readonly #returned: readonly ParameterSpec[];
  readonly #byName: ReadonlyMap<string, ParameterSpec>;
  readonly #table: LookupTable | undefined;
  #empty = true;

  /**
   * @param specs the trained parameters
   * @param newArray makes the array for the sum, with any content. @default a new array
   */
  constructor(
    specs: readonly ParameterSpec[],
    {
      table,
      newArray,
    }: { readonly table?: LookupTable; readonly newArray?: () => Float32Array } = {},
  ) {
    this.#byName = new Map(specs.map((spec) => [spec.name, spec]));
    this.#table = table;
    this.#returned = specs.filter((spec) => spec !== table?.spec || table.tied);
    const size = specs.reduce((sum, spec) => sum + spec.size, 0);
    this.#newArray = newArray ?? (() => new Float32Array(size));
  }

  /**
   * dL/dparameter in the order of the parameters; zeros if nothing was added. A view, valid until
   * the next call. [P]
   */
  get flat(): Float32Array {
    if (this.#empty) this.#sum.fill(0);
    return this.#sum;
  }

  /**
   * Returns {@link flat} as an array that then belongs to the caller; the sum starts again from 0.
   */
  take(): Float32Array {
    const { flat } = this;
    this.#array = undefined;
    this.clear();
    return flat;
  }

  /**
   * Arrays into which the graph writes the gradients of the next micro-batch, by output. While the
   * sum is empty, they are parts of the sum itself, which saves a copy; afterwards there are none,
   * and the runtime allocates them.
   */
  outputs(): Readonly<Record<string, Tensor>> {
    if (!this.#empty) return {};
    return Object.fromEntries(
      this.#returned.map(({ name, offset, size, shape }) => [
        `grad.${name}`,
        new Tensor('float32', this.#part(offset, size), shape),
      ]),
    );
  }

  /** Adds one micro-batch that ran with input `ids` and with {@link outputs}. */
  add(outputs: GradientOutputs, ids: Int32Array): void {
    if (!this.#empty) {
      for (const { name, offset, size } of this.#returned)
        addTo(this.#part(offset, size), outputs[`grad.${name}`]?.data as Float32Array);
    }
    if (this.#table) this.putLookups(outputs['grad.embedded']?.data, ids);
    this.endBatch();
  }

  /**
   * Adds a part of a micro-batch: the gradient of a parameter, or of its numbers from `start` on.
   * Each number is added once, and {@link putLookups} is called last.
   */
  put(name: string, found: unknown, start = 0): void {
    const { offset } = this.#spec(name);
    const source = found as Float32Array;
    const target = this.#part(offset + start, source.length);
    if (this.#empty) target.set(source);
    else addTo(target, source);
  }

  /** Adds the gradient of the rows that were looked up in the table. */
  putLookups(found: unknown, ids: Int32Array): void {
    if (!this.#table) return;
    const { offset, size, shape } = this.#table.spec;
    const target = this.#part(offset, size);
    if (this.#empty && !this.#table.tied) target.fill(0);
    addRows(target, found as Float32Array, ids, shape[1]!);
  }

  /** Marks the end of a micro-batch. */
  endBatch(): void {
    this.#empty = false;
  }

  /** Starts again from 0. */
  clear(): void {
    this.#empty = true;
  }

  #part(offset: number, size: number): Float32Array {
    return this.#sum.subarray(offset, offset + size);
  }

  get #sum(): Float32Array {
    return (this.#array ??= this.#newArray());
  }

  #spec(name: string): ParameterSpec {
    const spec = this.#byName.get(name);
    if (spec) return spec;
    throw new InvariantError(`The parameter ${name} is not trained.`);
  }
}

/** target += source */
export function addTo(target: Float32Array, source: Float32Array): void {
  for (let i = 0; i < target.length; i++) target[i] = target[i]! + source[i]!;
}

/** Adds row i of `rows` to row `ids[i]` of `table`: the gradient of a lookup. */
function addRows(table: Float32Array, rows: Float32Array, ids: Int32Array, width: number): void {
  for (let i = 0; i < ids.length; i++) {
    const to = ids[i]! * width;
    const from = i * width;
    for (let j = 0; j < width; j++) table[to + j] = table[to + j]! + rows[from + j]!;
  }
}
