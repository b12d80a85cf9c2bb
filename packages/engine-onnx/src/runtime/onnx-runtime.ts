/**
 * The default runtime: ONNX Runtime on the CPU, with all arrays in the memory of the
 * operating-system process.
 */
import { EngineError } from '@trinity-rft/core';
import type { InferenceSession, Tensor } from 'onnxruntime-node';

import type { ModelRecord } from '../onnx/graph/record.js';
import type {
  ArraySet,
  CacheLayout,
  DeviceArray,
  DeviceArrays,
  Feeds,
  GraphKind,
  GraphRuntime,
  HostArray,
  LoadedGraph,
  NamedShape,
  Numbers,
  UpdatePlan,
  UpdateSets,
} from './graph-runtime.js';
import {
  flatOf,
  floatArray,
  floatsOf,
  OnnxArray,
  OnnxSet,
  own,
  ownSet,
  sizeOf,
  tensorOf,
} from './onnx-arrays.js';
import { OnnxCache } from './onnx-cache.js';
import { createSession } from './session.js';
import { sharedNumbers } from './shared-numbers.js';
import { UpdateThreads } from './update-threads.js';

export class OnnxRuntime implements GraphRuntime {
  readonly threads: Readonly<Record<GraphKind, number>>;
  readonly #updates: UpdateThreads;

  constructor({ threads }: Pick<OnnxRuntime, 'threads'>) {
    this.threads = threads;
    this.#updates = new UpdateThreads(threads.train);
  }

  async load(record: ModelRecord, kind: GraphKind, folder?: string): Promise<LoadedGraph> {
    const options = { threads: this.threads[kind], kind, folder };
    return OnnxGraph.open(kind, () => createSession(record, options));
  }

  array(host: HostArray): DeviceArray {
    return new OnnxArray(tensorOf(host));
  }

  set(shapes: readonly NamedShape[], flat?: Float32Array): ArraySet {
    const size = shapes.reduce((sum, { shape }) => sum + sizeOf(shape), 0);
    return new OnnxSet(shapes, flat ?? sharedNumbers(size));
  }

  rows(array: DeviceArray, start: number, end: number): DeviceArray {
    const [, ...row] = array.shape;
    const size = sizeOf(row);
    return floatArray(floatsOf(array).subarray(start * size, end * size), [end - start, ...row]);
  }

  async read(array: DeviceArray): Promise<Numbers> {
    return own(array).tensor.data as Numbers;
  }

  async readSet(set: ArraySet): Promise<Float32Array> {
    return flatOf(set);
  }

  copy(to: DeviceArray, from: DeviceArray | HostArray | 'zeros'): void {
    if (from === 'zeros') floatsOf(to).fill(0);
    else floatsOf(to).set(floatsOf(from));
  }

  copySet(to: ArraySet, from: ArraySet | Float32Array | 'zeros'): void {
    if (from === 'zeros') flatOf(to).fill(0);
    else flatOf(to).set(from instanceof Float32Array ? from : flatOf(from));
  }

  add(to: DeviceArray, from: DeviceArray): void {
    const [target, source] = [floatsOf(to), floatsOf(from)];
    for (let i = 0; i < target.length; i++) target[i] = target[i]! + source[i]!;
  }

  takeRows(
    table: DeviceArray,
    ids: Int32Array,
    scale: number,
    shape: readonly number[],
  ): DeviceArray {
    const [numbers, width] = [floatsOf(table), table.shape[1]!];
    const rows = new Float32Array(ids.length * width);
    for (const [i, id] of ids.entries())
      rows.set(numbers.subarray(id * width, (id + 1) * width), i * width);
    if (scale !== 1) for (let i = 0; i < rows.length; i++) rows[i] = rows[i]! * scale;
    return floatArray(rows, shape);
  }

  addRows(table: DeviceArray, rows: DeviceArray, ids: Int32Array, scale: number): void {
    const [target, source, width] = [floatsOf(table), floatsOf(rows), table.shape[1]!];
    for (let i = 0; i < ids.length; i++) {
      const to = ids[i]! * width;
      const from = i * width;
      for (let j = 0; j < width; j++)
        target[to + j] = target[to + j]! + Math.fround(source[from + j]! * scale);
    }
  }

  async norm(set: ArraySet): Promise<number> {
    return globalNorm(flatOf(set));
  }

  adamW({ from, to, gradient, first, second }: UpdateSets, plan: UpdatePlan): Promise<void> {
    const { flat, sizes } = ownSet(from);
    const arrays = {
      from: flat,
      to: flatOf(to),
      gradient: flatOf(gradient),
      first: flatOf(first),
      second: flatOf(second),
    };
    return this.#updates.update(arrays, { ...plan, sizes });
  }

  cache(layout: CacheLayout): OnnxCache {
    return new OnnxCache(layout);
  }

  close(): Promise<void> {
    return this.#updates.close();
  }
}

class OnnxGraph implements LoadedGraph {
  readonly #kind: GraphKind;
  readonly #load: () => Promise<InferenceSession>;
  #session: Promise<InferenceSession> | undefined;

  private constructor(kind: GraphKind, load: () => Promise<InferenceSession>) {
    this.#kind = kind;
    this.#load = load;
  }

  static async open(kind: GraphKind, load: () => Promise<InferenceSession>): Promise<OnnxGraph> {
    const graph = new OnnxGraph(kind, load);
    await graph.#open();
    return graph;
  }

  async run(inputs: Feeds, outputs: DeviceArrays = {}): Promise<DeviceArrays> {
    const session = await this.#open();
    const feeds: Record<string, Tensor> = {};
    for (const name of session.inputNames) {
      const value = inputs[name];
      if (value) feeds[name] = tensorOf(value);
    }
    const fetches = session.outputNames.map((name) => {
      const given = outputs[name];
      return [name, given ? own(given).tensor : null] as const;
    });
    const found = await session.run(feeds, Object.fromEntries(fetches)).catch((cause: unknown) => {
      throw runFailed(this.#kind, cause);
    });
    return Object.fromEntries(
      fetches.map(([name]) => [name, outputs[name] ?? new OnnxArray(found[name] as Tensor)]),
    );
  }

  /** Frees the session, because a session keeps the memory of its earlier executions. */
  trim(): Promise<void> {
    return this.free();
  }

  async free(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await (await session)?.release();
  }

  #open(): Promise<InferenceSession> {
    if (this.#session) return this.#session;
    const session = this.#load();
    this.#session = session;
    // After a failure, the next execution loads the graph again.
    session.catch(() => (this.#session = undefined));
    return session;
  }
}

function runFailed(kind: GraphKind, cause: unknown): EngineError {
  const [work, remedy] = {
    sample: ['sampling', 'model.memory_budget_mb or model.max_model_len'],
    train: ['training', 'model.memory_budget_mb'],
  }[kind];
  return new EngineError(
    `ONNX Runtime failed while ${work}; the machine may be out of memory: lower ${remedy}.`,
    { code: 'ENGINE_RUN', cause },
  );
}

/** Returns the L2 norm of all numbers, summed in float64. */
export function globalNorm(gradient: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < gradient.length; i++) {
    const x = gradient[i]!;
    sum += x * x;
  }
  return Math.sqrt(sum);
}
