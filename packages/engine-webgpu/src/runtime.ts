/** Implementation of the engine's graph runtime on a WebGPU device. */
import type {
  ArraySet,
  CacheLayout,
  DeviceArray,
  DeviceArrays,
  GraphRuntime,
  HostArray,
  LoadedGraph,
  ModelRecord,
  NamedShape,
  Numbers,
  RowCache,
  UpdatePlan,
  UpdateSets,
} from '@trinity-rft/engine-onnx/graph-runtime';
import { sizeOf } from './kernels/loop.js';
import {
  adamW,
  addedRows,
  addition,
  readBy,
  rowsById,
  squareGroups,
  squares,
  tableRows,
  type UpdateTarget,
} from './kernels/updates.js';
import { checkGraph } from './plan/plan.js';
import { bytesOf } from './plan/value.js';
import { BufferArray, ofSize, ownArray, readNumbers, storedNumbers } from './run/array.js';
import { DeviceCache } from './run/cache.js';
import type { BufferPart } from './run/commands.js';
import { dispatchOnce, type Machine } from './run/machine.js';
import { DeviceGraph } from './run/graph.js';

export class DeviceRuntime implements GraphRuntime {
  readonly #machine: Machine;
  readonly #end: () => Promise<void>;

  /** @param end frees the device */
  constructor(machine: Machine, end: () => Promise<void>) {
    this.#machine = machine;
    this.#end = end;
  }

  async load(record: ModelRecord): Promise<LoadedGraph> {
    checkGraph(record);
    return new DeviceGraph(this.#machine, record);
  }

  array(host: HostArray): BufferArray {
    const array = this.#new(host);
    this.#machine.commands.write(array, storedNumbers(host));
    return array;
  }

  set(shapes: readonly NamedShape[], flat?: Float32Array): ArraySet {
    const named = shapes.map(
      ({ name, shape }) => [name, this.#new({ dtype: 'float32', shape })] as const,
    );
    const arrays = Object.fromEntries(named);
    const set = { arrays, free: () => named.forEach(([, array]) => array.free()) };
    this.copySet(set, flat ?? 'zeros');
    return set;
  }

  rows(array: DeviceArray, start: number, end: number): BufferArray {
    const { dtype, shape, buffer, offset } = ownArray(array);
    const row = 4 * sizeOf(shape.slice(1));
    const view = { dtype, shape: shape.with(0, end - start) };
    return new BufferArray(view, buffer, undefined, offset + start * row);
  }

  async read(array: DeviceArray): Promise<Numbers> {
    return readNumbers(array.dtype, await this.#machine.commands.read([ownArray(array)]));
  }

  async readSet(set: ArraySet): Promise<Float32Array> {
    return new Float32Array(await this.#machine.commands.read(arraysOf(set)));
  }

  copy(to: DeviceArray, from: DeviceArray | HostArray | 'zeros'): void {
    const { commands } = this.#machine;
    if (from === 'zeros') commands.clear(ownArray(to));
    else if ('data' in from) commands.write(ownArray(to), storedNumbers(from));
    else commands.copy(ownArray(from), ofSize(to, from.shape));
  }

  copySet(to: ArraySet, from: ArraySet | Float32Array | 'zeros'): void {
    const { commands } = this.#machine;
    let start = 0;
    const others = from instanceof Float32Array || from === 'zeros' ? [] : arraysOf(from);
    for (const [i, array] of arraysOf(to).entries()) {
      if (from === 'zeros') commands.clear(array);
      else if (from instanceof Float32Array)
        commands.write(array, from.subarray(start, start + array.size));
      else commands.copy(others[i]!, ofSize(array, others[i]!.shape));
      start += array.size;
    }
  }

  add(to: DeviceArray, from: DeviceArray): void {
    const [source, target] = [ownArray(from), ofSize(to, from.shape)];
    const call = addition(target.size, source.start, target.start);
    dispatchOnce(this.#machine, call, [source.whole, target.whole]);
  }

  takeRows(
    table: DeviceArray,
    ids: Int32Array,
    scale: number,
    shape: readonly number[],
  ): BufferArray {
    const source = ownArray(table);
    const width = table.shape[1]!;
    const rows = this.#new({ dtype: 'float32', shape });
    const call = tableRows(ids.length, width, source.start, scale);
    this.#withList(ids, (list) => dispatchOnce(this.#machine, call, [source.whole, list, rows]));
    return rows;
  }

  addRows(table: DeviceArray, rows: DeviceArray, ids: Int32Array, scale: number): void {
    const [source, target] = [ownArray(rows), ownArray(table)];
    const { count, list } = rowsById(ids);
    const starts = { rows: source.start, table: target.start };
    const call = addedRows(count, table.shape[1]!, starts, scale);
    this.#withList(list, (part) =>
      dispatchOnce(this.#machine, call, [source.whole, part, target.whole]),
    );
  }

  async norm(set: ArraySet): Promise<number> {
    const arrays = arraysOf(set);
    const count = arrays.reduce((sum, { size }) => sum + squareGroups(size), 0);
    const sums = this.#new({ dtype: 'float32', shape: [2 * count] });
    let first = 0;
    for (const array of arrays) {
      dispatchOnce(this.#machine, squares(array.size, array.start, first), [array.whole, sums]);
      first += squareGroups(array.size);
    }
    const found = (await this.read(sums)) as Float32Array;
    sums.free();
    let sum = 0;
    for (let i = 0; i < count; i++) sum += found[2 * i + 1] === 0 ? found[2 * i]! : NaN;
    return Math.sqrt(sum);
  }

  async adamW(sets: UpdateSets, plan: UpdatePlan): Promise<void> {
    const { from, to, gradient, first, second } = sets;
    const target: UpdateTarget = to === from ? 'from' : to === gradient ? 'gradient' : 'other';
    const read = readBy[target].map((name) => sets[name]);
    const operands = [...read, to, first, second].map(arraysOf);
    for (const [i, { size }] of arraysOf(to).entries()) {
      const call = adamW(size, target, { ...plan, keep: plan.keep[i]! });
      const parts = operands.map((arrays) => ofSize(arrays[i]!, [size]));
      dispatchOnce(this.#machine, call, parts);
    }
  }

  cache(layout: CacheLayout): RowCache {
    return new DeviceCache(this.#machine, layout);
  }

  async settled(): Promise<void> {
    await this.#machine.commands.settled();
  }

  async close(): Promise<void> {
    await this.#end();
  }

  #new(array: Pick<DeviceArray, 'dtype' | 'shape'>): BufferArray {
    const { memory } = this.#machine;
    return new BufferArray(array, memory.take(bytesOf(array.shape)), memory);
  }

  /** Uploads integers for the commands that `work` queues. */
  #withList(numbers: Int32Array, work: (list: BufferPart) => void): void {
    const list = this.array({ dtype: 'int32', shape: [numbers.length], data: numbers });
    work(list);
    list.free();
  }
}

const arraysOf = ({ arrays }: { readonly arrays: DeviceArrays }): readonly BufferArray[] =>
  Object.values(arrays).map(ownArray);
