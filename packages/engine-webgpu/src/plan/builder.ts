/** A plan under construction: its storages, its dispatches, and the storage of each value. */
import { InvariantError, type EngineError } from '@trinity-rft/core';
import type { DataType, NodeRecord } from '@trinity-rft/engine-onnx/graph-runtime';
import { unsupported } from '../device/errors.js';
import type { Call } from '../kernels/kernel.js';
import { bytesOf, type Value } from './value.js';

/** Kind of buffer that holds a storage's data. */
export type Place =
  | { readonly kind: 'input' | 'output'; readonly name: string }
  /** A constant, which all plans of the graph share. */
  | { readonly kind: 'constant'; readonly key: string }
  /**
   * A temporary buffer, needed from the first dispatch that writes it to the last that reads it.
   */
  | { readonly kind: 'slot' };

interface Storage {
  place: Place;
  readonly bytes: number;
}

export interface Dispatch extends Call {
  /** Indices of storages, in the order of the kernel's bindings. */
  readonly buffers: readonly number[];
}

export interface ConstantData {
  readonly dtype: DataType;
  readonly numbers: readonly number[];
}

export class PlanBuilder {
  readonly storages: Storage[] = [];
  readonly dispatches: Dispatch[] = [];
  readonly constants = new Map<string, ConstantData>();
  readonly #values = new Map<string, Value>();
  readonly #constantStorages = new Map<string, number>();

  /**
   * Returns the value named `name`.
   * @throws InvariantError if no earlier node produced the value
   */
  value(name: string): Value {
    const value = this.#values.get(name);
    if (value) return value;
    throw new InvariantError(`No value of the graph is named "${name}".`);
  }

  name(name: string, value: Value): void {
    this.#values.set(name, value);
  }

  input(name: string, dtype: DataType, shape: readonly number[]): void {
    this.name(name, { dtype, shape, storage: this.#storage(shape, { kind: 'input', name }) });
  }

  /** Creates a value with a new temporary storage, which a kernel will write. */
  fresh(dtype: DataType, shape: readonly number[]): Value {
    return { dtype, shape, storage: this.#storage(shape, { kind: 'slot' }) };
  }

  /**
   * Returns a view of a value's data with another shape, or with another data type that has the
   * same representation in buffers.
   */
  alias(value: Value, shape: readonly number[], dtype: DataType = value.dtype): Value {
    return value.host
      ? { ...value, shape, dtype }
      : { shape, dtype, storage: this.storageOf(value) };
  }

  /** Adds a dispatch. Does nothing if all results are empty. */
  run(call: Call, reads: readonly Value[], writes: readonly Value[]): void {
    if (writes.every(({ shape }) => shape.includes(0))) return;
    const buffers = [...reads, ...writes].map((value) => this.storageOf(value));
    this.dispatches.push({ ...call, buffers });
  }

  /** Adds a dispatch with one result, and returns the result's value. */
  computed(dtype: DataType, shape: readonly number[], call: Call, reads: readonly Value[]): Value {
    const y = this.fresh(dtype, shape);
    this.run(call, reads, [y]);
    return y;
  }

  /**
   * Returns the index of a value's storage. If the elements are known on the host, they become a
   * constant of the graph.
   */
  storageOf(value: Value): number {
    if (value.storage !== undefined) return value.storage;
    if (!value.host) throw new InvariantError('A value has neither numbers nor a storage.');
    const key = `${value.dtype} ${value.host.join()}`;
    const known = this.#constantStorages.get(key);
    const index = known ?? this.#storage([value.host.length], { kind: 'constant', key });
    this.#constantStorages.set(key, index);
    this.constants.set(key, { dtype: value.dtype, numbers: value.host });
    value.storage = index;
    return index;
  }

  #storage(shape: readonly number[], place: Place): number {
    this.storages.push({ place, bytes: bytesOf(shape) });
    return this.storages.length - 1;
  }
}

/**
 * Creates the error for a node without a kernel.
 * @param what noun phrase that names the unsupported feature
 */
export const unsupportedNode = ({ name, type }: NodeRecord, what: string): EngineError =>
  unsupported(`${what} (operator ${type}, node ${name})`, { operator: type, node: name });
