/** Implements the engine's graph runtime on a WebGPU device. */
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
import { gather } from './kernels/indices.js';
import { adamW, addedRows, addition, rowsById, squareGroups, squares } from './kernels/updates.js';
import { checkGraph } from './plan/plan.js';
import { bytesOf } from './plan/value.js';
import { BufferArray, ofSize, ownArray, readNumbers, storedNumbers } from './run/array.js';
import { DeviceCache } from './run/cache.js';
import { dispatchOnce, upload, withScratch, type Machine } from './run/machine.js';
import { DeviceGraph } from './run/graph.js';

export class DeviceRuntime implements GraphRuntime {
  readonly #machine: Machine;
  readonly #end: () => Promise<void>;

  /** Creates a runtime on an open device. @param end frees the device */
  constructor(machine: Machine, end: () => Promise<void>) {
    this.#machine = machine;
    this.#end = end;
  }

  async load(record: ModelRecord): Promise<LoadedGraph> {
    checkGraph(record);
    return new DeviceGraph(this.#machine, record);
  }

  array(host: HostArray): BufferArray {
    const { buffer } = upload(this.#machine, storedNumbers(host));
    return new BufferArray(host, buffer, this.#machine.memory);
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
    const [size, inner] = table.shape as [number, number];
    const sizes = { outer: 1, size, inner, count: ids.length };
    const call = gather('f32', { ...sizes, start: source.start, scale });
    const rows = this.#new({ dtype: 'float32', shape });
    withScratch(this.#machine, (scratch) =>
      dispatchOnce(this.#machine, call, [source.whole, scratch.upload(ids), rows]),
    );
    return rows;
  }

  addRows(table: DeviceArray, rows: DeviceArray, ids: Int32Array, scale: number): void {
    const [source, target] = [ownArray(rows), ownArray(table)];
    const { count, list } = rowsById(ids);
    const starts = { rows: source.start, table: target.start };
    const call = addedRows(count, table.shape[1]!, starts, scale);
    withScratch(this.#machine, (scratch) =>
      dispatchOnce(this.#machine, call, [source.whole, scratch.upload(list), target.whole]),
    );
  }

  async norm(set: ArraySet): Promise<number> {
    const arrays = arraysOf(set);
    const count = arrays.reduce((sum, { size }) => sum + squareGroups(size), 0);
    const read = withScratch(this.#machine, (scratch) => {
      const sums = scratch.take(8 * count);
      let first = 0;
      for (const { size, start, whole } of arrays) {
        dispatchOnce(this.#machine, squares(size, start, first), [whole, sums]);
        first += squareGroups(size);
      }
      return this.#machine.commands.read([sums]);
    });
    const found = new Float32Array(await read);
    let sum = 0;
    for (let i = 0; i < count; i++) sum += found[2 * i + 1] === 0 ? found[2 * i]! : NaN;
    return Math.sqrt(sum);
  }

  async adamW(sets: UpdateSets, plan: UpdatePlan): Promise<void> {
    const { from, to, gradient, first, second } = sets;
    const isGradient = to === gradient;
    // A dispatch cannot read a buffer that it writes, so the kernel updates in place.
    if (!isGradient && to !== from) this.copySet(to, from);
    const operands = [isGradient ? from : gradient, to, first, second].map(arraysOf);
    for (const [i, { size }] of arraysOf(to).entries()) {
      const call = adamW(size, isGradient, { ...plan, keep: plan.keep[i]! });
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
}

const arraysOf = ({ arrays }: { readonly arrays: DeviceArrays }): readonly BufferArray[] =>
  Object.values(arrays).map(ownArray);
