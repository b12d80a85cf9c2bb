/**
 * Interface between the engine and a runtime that executes its graphs. It covers arrays that may be
 * on a device, graphs that read and write them, and the few updates outside graphs. Calls take
 * effect in their order, so a runtime may queue them. When {@link GraphRuntime.read} resolves, the
 * queued work is done; it also throws the errors of that work.
 */
import type { DataType, ModelRecord } from '../onnx/graph/record.js';

export {
  dataTypes,
  type Attribute,
  type ConstantRecord,
  type DataType,
  type ExternalBytes,
  type ModelRecord,
  type NodeRecord,
  type PortRecord,
} from '../onnx/graph/record.js';

/**
 * Typed array with the elements of an array: `int64` is BigInt64Array, `uint8` and `bool` are
 * Uint8Array.
 */
export type Numbers = Float32Array | Int32Array | BigInt64Array | Uint8Array;

/**
 * An array in the thread's memory. Used as an input of one graph execution, or as the content of a
 * new {@link DeviceArray}.
 */
export interface HostArray {
  readonly dtype: DataType;
  readonly shape: readonly number[];
  readonly data: Numbers;
}

/** An array that a runtime owns. */
export interface DeviceArray {
  readonly dtype: DataType;
  readonly shape: readonly number[];
  /**
   * Frees the array's memory once queued work no longer needs it. Has no effect on a view of
   * another array, or on an array that is already freed.
   */
  free(): void;
}

/** Inputs of a graph by name. A graph ignores arrays that are not among its inputs. */
export type Feeds = Readonly<Record<string, HostArray | DeviceArray>>;

export type DeviceArrays = Readonly<Record<string, DeviceArray>>;

/** A name and a shape, such as those of a parameter. */
export interface NamedShape {
  readonly name: string;
  readonly shape: readonly number[];
}

/**
 * Float32 arrays that are created, updated and read together, such as weights, gradients or
 * moments. {@link GraphRuntime.readSet} returns their elements in one flat array, in the order of
 * {@link arrays}.
 */
export interface ArraySet {
  readonly arrays: DeviceArrays;
  free(): void;
}

/**
 * Purpose of a graph. In training graphs, long operators are divided into smaller pieces. Sampling
 * graphs may use another number of threads.
 */
export type GraphKind = 'train' | 'sample';

/** One AdamW update, for w, its gradient g and its moments m and v:
 * m = b1 m + (1 - b1) scale g;  v = b2 v + (1 - b2) (scale g)^2;
 * w' = keep w - stepSize m / (sqrt(v) / rootCorrection + epsilon).
 */
export interface UpdatePlan<Keep = readonly number[]> {
  readonly betas: readonly [number, number];
  readonly epsilon: number;
  /** Factor by which the gradient is multiplied; `scale` in the formulas. */
  readonly gradientScale: number;
  readonly stepSize: number;
  readonly rootCorrection: number;
  /** Factor for each array, in order, by which weight decay shrinks the weights. */
  readonly keep: Keep;
}

/**
 * Operands of an update, all with the same shapes. `to` may be the same operand as `from` or
 * `gradient`, which is then overwritten.
 */
export type UpdateOperands<T> = Readonly<
  Record<'from' | 'to' | 'gradient' | 'first' | 'second', T>
>;

export type UpdateSets = UpdateOperands<ArraySet>;

/** Shapes of a {@link RowCache}. */
export interface CacheLayout {
  /**
   * Inputs for keys and values, in the order `k.0`, `v.0`, `k.1`, `v.1`. Each input is [rows,
   * heads, capacity, width].
   */
  readonly inputs: readonly { readonly name: string; readonly width: number }[];
  readonly heads: number;
  /** Number of positions of a row. */
  readonly capacity: number;
  /**
   * Inputs for recurrent states, each [rows, ...shape]. Every new position replaces a state
   * completely.
   */
  readonly states: readonly NamedShape[];
}

/** Keys, values and states that a graph execution has computed for new positions. */
export interface NewPositions {
  /**
   * Keys and values of the new positions. Each row contains one array [heads, positions, width] for
   * each input of the layout, in order. The third dimension of `keyValues` is `positions`.
   */
  readonly keyValues: DeviceArray;
  /** The states after the last position, in the order of the layout. [B, ...shape] each */
  readonly states: readonly DeviceArray[];
}

/**
 * Copy operation: `length` positions from row `from` of new positions or of another cache to row
 * `to`. The states of the row are copied even if `length` is 0.
 */
export interface RowMove {
  readonly from: number;
  readonly to: number;
  /** First position to write in row `to`. The copy starts at position 0 of row `from`. */
  readonly position: number;
  readonly length: number;
}

/** Keys, values and states of rows. Decoding adds one position at a time. */
export interface RowCache {
  /** Makes room for `rows` rows in total, and keeps existing rows. New rows are zeros. */
  reserve(rows: number): void;
  /** Overwrites a row with zeros. */
  clear(row: number): void;
  /** Stores new positions and states in the rows given by `moves`. */
  store(fresh: NewPositions, moves: readonly RowMove[]): void;
  /** Copies rows from a cache that differs only in capacity, or from this cache. */
  copy(from: RowCache, moves: readonly RowMove[]): void;
  /**
   * Returns the inputs for `count` rows from `start` on. The inputs are valid until the next
   * {@link reserve}.
   */
  feeds(start: number, count: number): Feeds;
  free(): void;
}

/** A graph that is ready to be executed. */
export interface LoadedGraph {
  /**
   * Executes the graph. Outputs are new arrays, which the caller frees, unless `outputs` names an
   * array to overwrite.
   * @throws EngineError when the execution fails; on a device, a later call may throw it instead
   */
  run(inputs: Feeds, outputs?: DeviceArrays): Promise<DeviceArrays>;
  /**
   * Frees memory that the runtime keeps from earlier executions. The next execution may take
   * longer.
   */
  trim(): Promise<void>;
  free(): Promise<void>;
}

/** Executes graphs for one thread of the engine. */
export interface GraphRuntime {
  /**
   * Number of threads per operator. Set only if the order of an operator's sums depends on the
   * number of threads and rows.
   * @default undefined: a row's result never depends on other rows
   */
  readonly threads?: Readonly<Record<GraphKind, number>>;
  /**
   * Loads a graph.
   * @param folder that holds the external bytes of the graph's constants
   * @throws EngineError when the runtime rejects the graph
   */
  load(record: ModelRecord, kind: GraphKind, folder?: string): Promise<LoadedGraph>;

  /** Creates an array. The runtime takes ownership of the numbers and may not copy them. */
  array(host: HostArray): DeviceArray;
  /**
   * Creates a set of arrays.
   * @param flat elements of the set; the runtime takes ownership of this array. @default zeros
   */
  set(shapes: readonly NamedShape[], flat?: Float32Array): ArraySet;
  /** Returns a view of the rows from `start` up to, but not including, `end`. */
  rows(array: DeviceArray, start: number, end: number): DeviceArray;
  /**
   * Reads the elements of an array. A runtime in host memory returns the array itself, whose
   * content the next update may change.
   */
  read(array: DeviceArray): Promise<Numbers>;
  /**
   * Reads the elements of a set into one flat array. As with {@link read}, a runtime in host memory
   * may return its own array.
   */
  readSet(set: ArraySet): Promise<Float32Array>;

  /**
   * Copies the elements of `from` to `to`, or fills `to` with zeros. Both arrays must have the same
   * number of elements.
   */
  copy(to: DeviceArray, from: DeviceArray | HostArray | 'zeros'): void;
  /**
   * Copies the elements of `from` to `to`, or fills `to` with zeros. Both sets must have the same
   * shapes.
   */
  copySet(to: ArraySet, from: ArraySet | Float32Array | 'zeros'): void;
  /** Adds `from` to `to`. Both arrays must have the same number of elements. */
  add(to: DeviceArray, from: DeviceArray): void;
  /**
   * Returns rows of a table [V, d]: row i is scale * row `ids[i]`. Each product is rounded to
   * float32.
   * @param shape of the result: [..., d]
   */
  takeRows(
    table: DeviceArray,
    ids: Int32Array,
    scale: number,
    shape: readonly number[],
  ): DeviceArray;
  /** Adds scale * row i of `rows` [..., d] to row `ids[i]` of a table [V, d], in the order of i. */
  addRows(table: DeviceArray, rows: DeviceArray, ids: Int32Array, scale: number): void;
  /**
   * Returns the L2 norm of all numbers of a set, which is NaN or Infinity if a number is not
   * finite.
   */
  norm(set: ArraySet): Promise<number>;
  /**
   * Applies an AdamW update. @throws EngineError when the update fails; the arrays are then partly
   * updated
   */
  adamW(sets: UpdateSets, plan: UpdatePlan): Promise<void>;
  /** Creates a cache without rows. */
  cache(layout: CacheLayout): RowCache;

  /** Resolves when queued work is done. Absent on a runtime that queues no work. */
  settled?(): Promise<void>;

  /**
   * Terminates the runtime's threads and closes its devices. Graphs and arrays can no longer be
   * used.
   */
  close(): Promise<void>;
}

/** Options for every runtime. */
export interface RuntimeOptions {
  /** Wraps waiting for native code, so that the thread is not terminated during the wait. */
  readonly gate: <T>(wait: () => Promise<T>) => Promise<T>;
  /** Called every five seconds during a wait with a message that states its purpose. */
  readonly report: (message: string) => void;
}

/** Type of the function `createGraphRuntime` of a module that provides a runtime. */
export type CreateGraphRuntime = (options: RuntimeOptions) => Promise<GraphRuntime>;
