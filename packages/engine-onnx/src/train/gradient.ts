/**
 * The accumulated gradient. The outputs of each micro-batch are added to a set of arrays, in order.
 */
import { InvariantError } from '@trinity-rft/core';

import type { ParameterSpec } from '../model/parameters.js';
import type {
  ArraySet,
  DeviceArray,
  DeviceArrays,
  GraphRuntime,
} from '../runtime/graph-runtime.js';

/** A trained embedding table. Its gradient is computed for the rows of the input tokens only. */
export interface LookupTable {
  readonly spec: ParameterSpec;
  /**
   * True if the output head uses the table as its weight. The gradient of the head covers the whole
   * matrix.
   */
  readonly tied: boolean;
  /**
   * Name of the gradient graph's output that contains the gradients of the rows, one row for each
   * id.
   */
  readonly output: string;
}

/** The methods of {@link GradientSum} that an optimizer update uses. */
export type SummedGradient = Pick<GradientSum, 'set' | 'take'>;

export class GradientSum {
  readonly #runtime: GraphRuntime;
  readonly #newSet: () => ArraySet;
  /** Parameters whose gradient the graph returns as a whole array. */
  readonly #returned: readonly ParameterSpec[];
  readonly #tables: readonly LookupTable[];
  #set: ArraySet | undefined;
  #empty = true;

  /**
   * Creates an empty sum.
   * @param specs the trained parameters
   * @param newSet creates the set for the sum, with arbitrary contents. @default a new set
   */
  constructor(
    runtime: GraphRuntime,
    specs: readonly ParameterSpec[],
    {
      tables = [],
      newSet,
    }: { readonly tables?: readonly LookupTable[]; readonly newSet?: () => ArraySet } = {},
  ) {
    this.#runtime = runtime;
    this.#tables = tables;
    const apart = tables.filter(({ tied }) => !tied).map(({ spec }) => spec);
    this.#returned = specs.filter((spec) => !apart.includes(spec));
    this.#newSet = newSet ?? (() => runtime.set(specs));
  }

  /**
   * Sum of the gradients of every trained parameter; zeros if nothing was added. Valid until the
   * next call.
   */
  get set(): ArraySet {
    if (this.#empty) this.#runtime.copySet(this.#sum, 'zeros');
    return this.#sum;
  }

  /** Returns {@link set}, which then belongs to the caller. The sum starts again at 0. */
  take(): ArraySet {
    const { set } = this;
    this.#set = undefined;
    this.clear();
    return set;
  }

  /**
   * Returns the arrays into which the graph writes the gradients of the next micro-batch, keyed by
   * output. While the sum is empty, these are the arrays of the sum itself, which saves a copy.
   * Otherwise the result is empty, and the runtime allocates the arrays.
   */
  outputs(): DeviceArrays {
    if (!this.#empty) return {};
    return Object.fromEntries(this.#returned.map(({ name }) => [`grad.${name}`, this.#part(name)]));
  }

  /**
   * Adds the outputs of one micro-batch with the input `ids`. The graph must have written to the
   * arrays of {@link outputs}. Frees the arrays that are not part of the sum.
   */
  add(outputs: DeviceArrays, ids: Int32Array): void {
    if (!this.#empty)
      for (const { name } of this.#returned) this.put(name, outputs[`grad.${name}`]);
    for (const { spec, output } of this.#tables) this.putLookups(spec.name, outputs[output], ids);
    this.endBatch();
  }

  /**
   * Adds a part of the gradient of a micro-batch, and frees the part. A part is the gradient of a
   * whole parameter, or of its rows from `start` on. Call once for each part, before
   * {@link putLookups}.
   */
  put(name: string, found: DeviceArray | undefined, start?: number): void {
    if (!found) throw new InvariantError(`A graph returned no gradient of ${name}.`);
    const whole = this.#part(name);
    const rows = found.shape[0] ?? 0;
    const target = start === undefined ? whole : this.#runtime.rows(whole, start, start + rows);
    if (this.#empty) this.#runtime.copy(target, found);
    else this.#runtime.add(target, found);
    found.free();
  }

  /**
   * Adds `scale` times the gradient of the rows that were looked up in the table `name`, if this
   * table is trained. Frees the gradient.
   */
  putLookups(name: string, found: DeviceArray | undefined, ids: Int32Array, scale = 1): void {
    if (!found) throw new InvariantError(`A graph returned no gradient of the rows of ${name}.`);
    const table = this.#tables.find(({ spec }) => spec.name === name);
    if (table) {
      const target = this.#part(name);
      if (this.#empty && !table.tied) this.#runtime.copy(target, 'zeros');
      this.#runtime.addRows(target, found, ids, scale);
    }
    found.free();
  }

  /** Marks the end of a micro-batch. */
  endBatch(): void {
    this.#empty = false;
  }

  /** Resets the sum to 0. */
  clear(): void {
    this.#empty = true;
  }

  #part(name: string): DeviceArray {
    const part = this.#sum.arrays[name];
    if (part) return part;
    throw new InvariantError(`The parameter ${name} is not trained.`);
  }

  get #sum(): ArraySet {
    return (this.#set ??= this.#newSet());
  }
}
