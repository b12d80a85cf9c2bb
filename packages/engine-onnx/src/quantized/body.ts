/**
 * The body of a model with quantised weights, which computes hidden states, keys and values from
 * tokens.
 */
import type { LayerAdapters } from '../model/layer-graphs.js';
import { embeddingName, perLayerNames } from '../model/parameters.js';
import { RopeFeeds } from '../model/rope.js';
import type {
  DeviceArrays,
  Feeds,
  GraphRuntime,
  HostArray,
  LoadedGraph,
  RowCache,
} from '../runtime/graph-runtime.js';
import { floats, ints } from '../runtime/host-arrays.js';
import { cacheLayout } from '../sample/kv-pool.js';
import type { QuantizedBase } from './base.js';
import { bodyGraph } from './graphs.js';
import { loadGraph } from './session.js';

/** The newest token of each sequence. The earlier tokens are in a cache. */
export interface NextTokens {
  readonly ids: Int32Array;
  readonly positions: Int32Array;
  /** The cache's inputs: `k.<l>`, `v.<l>` and the recurrent states of the rows. */
  readonly cache: Feeds;
  /** Number of positions of the cache. */
  readonly capacity: number;
}

/** Whole sequences of `time` tokens. */
export interface Sequences {
  readonly ids: Int32Array;
  readonly time: number;
}

/** Rows whose hidden states are returned, divided by the temperature. Both arrays have length R. */
export interface PickedRows {
  readonly rows: Int32Array;
  readonly inverseTemperature: Float32Array;
}

/**
 * Returns the number of rows to compute for a product of `count` rows. The runtime computes 128
 * rows at a time. If a single row remains, it may use another kernel: always in float32, and in
 * blocks of 4 bits on processors without AVX-512. A row is therefore added if `count` is one more
 * than a multiple of 16.
 */
export const productRows = (count: number): number => (count % 16 === 1 ? count + 1 : count);

/** `states` [R, d], and the new keys and values as the graph returns them. */
type BodyOutputs = DeviceArrays;

export class QuantizedBody {
  readonly #base: QuantizedBase;
  readonly #graph: LoadedGraph;
  readonly #rope: RopeFeeds;
  readonly #filler: RowCache;

  private constructor(runtime: GraphRuntime, base: QuantizedBase, graph: LoadedGraph) {
    this.#base = base;
    this.#graph = graph;
    this.#rope = new RopeFeeds(runtime, base.config);
    this.#filler = runtime.cache(cacheLayout(base.config, 1));
    this.#filler.reserve(2);
  }

  static async open(
    runtime: GraphRuntime,
    given: { readonly base: QuantizedBase; readonly threads: number },
    adapters: LayerAdapters,
  ): Promise<QuantizedBody> {
    const graph = await loadGraph(runtime, given, (options) => bodyGraph(options, adapters));
    return new QuantizedBody(runtime, given.base, graph);
  }

  /**
   * Reads the newest token of each sequence. Also reads a filler sequence of one token, because the
   * graph needs at least one sequence. The filler may be computed as a single row.
   * @param picked rows of `tokens`
   */
  next(adapters: Feeds, tokens: NextTokens, picked: PickedRows): Promise<BodyOutputs> {
    return this.#run(adapters, tokens, noSequences, picked);
  }

  /** Reads whole sequences. @param picked rows as indices in `sequences.ids` */
  read(adapters: Feeds, sequences: Sequences, picked = nonePicked): Promise<BodyOutputs> {
    const count = productRows(sequences.ids.length + 1) - sequences.ids.length;
    const none = new Int32Array(count);
    const cache = this.#filler.feeds(0, count);
    const tokens = { ids: none, positions: none, cache, capacity: 1 };
    const rows = picked.rows.map((row) => row + count);
    return this.#run(adapters, tokens, sequences, { ...picked, rows });
  }

  #run(
    adapters: Feeds,
    tokens: NextTokens,
    { ids, time }: Sequences,
    { rows, inverseTemperature }: PickedRows,
  ): Promise<BodyOutputs> {
    const [single, base] = [tokens.ids.length, this.#base];
    const all = new Int32Array(single + ids.length);
    all.set(tokens.ids);
    all.set(ids, single);
    const positions = BigInt64Array.from(all, (_, i) =>
      BigInt(i < single ? tokens.positions[i]! : (i - single) % time),
    );
    const rowsOf = (table: string): HostArray => {
      const numbers = base.embed(all, table);
      return floats(numbers, [all.length, numbers.length / all.length]);
    };
    const feeds = {
      ...adapters,
      ...this.#rope.feeds(Math.max(tokens.capacity, time)),
      ...tokens.cache,
      embedded: rowsOf(embeddingName),
      ...(base.config.perLayerInputs && { per_layer: rowsOf(perLayerNames.table) }),
      positions: { dtype: 'int64' as const, shape: [all.length, 1], data: positions },
      slots: ints(tokens.positions, [single, 1]),
      sequences: ints(ids, [ids.length / time, time]),
      rows: ints(rows, [rows.length]),
      inverse_temperature: floats(inverseTemperature, [rows.length, 1]),
    };
    return this.#graph.run(feeds);
  }

  /** Frees the graph. */
  close(): Promise<void> {
    return this.#graph.free();
  }
}

// Has one token, because the graph cannot divide zero sequences into rows.
const noSequences: Sequences = { ids: new Int32Array(1), time: 1 };
const nonePicked: PickedRows = { rows: new Int32Array(1), inverseTemperature: Float32Array.of(1) };
