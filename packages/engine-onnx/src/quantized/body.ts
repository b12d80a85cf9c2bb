/** The body of a model with quantised weights: from tokens to states, and to keys and values. */
import type { ModelConfig } from '../model/config.js';
import type { LayerAdapters } from '../model/layer-graphs.js';
import { RopeFeeds } from '../model/rope.js';
import type { DeviceArrays, Feeds, GraphRuntime, LoadedGraph } from '../runtime/graph-runtime.js';
import { floats, ints } from '../runtime/host-arrays.js';
import { cacheLayout } from '../sample/kv-pool.js';
import type { QuantizedBase } from './base.js';
import { bodyGraph } from './graphs.js';
import { loadGraph } from './session.js';

/** One token of each sequence, whose earlier tokens are in a cache. */
export interface NextTokens {
  readonly ids: Int32Array;
  readonly positions: Int32Array;
  /** Inputs `k.<l>`, `v.<l>` and states. */
  readonly cache: Feeds;
  /** Number of positions of the cache. */
  readonly capacity: number;
}

/** Whole sequences of `time` tokens. */
export interface Sequences {
  readonly ids: Int32Array;
  readonly time: number;
}

/** Rows whose states are returned, divided by the temperature. [R] each */
export interface PickedRows {
  readonly rows: Int32Array;
  readonly inverseTemperature: Float32Array;
}

/** `states` [R, d], and the new keys and values as the graph returns them. */
type BodyOutputs = DeviceArrays;

export class QuantizedBody {
  readonly #base: QuantizedBase;
  readonly #graph: LoadedGraph;
  readonly #rope: RopeFeeds;
  readonly #noTokens: NextTokens;

  private constructor(runtime: GraphRuntime, base: QuantizedBase, graph: LoadedGraph) {
    this.#base = base;
    this.#graph = graph;
    this.#rope = new RopeFeeds(runtime, base.config);
    this.#noTokens = noTokens(runtime, base.config);
  }

  static async open(
    runtime: GraphRuntime,
    given: { readonly base: QuantizedBase; readonly threads: number },
    adapters: LayerAdapters,
  ): Promise<QuantizedBody> {
    const graph = await loadGraph(runtime, given, (options) => bodyGraph(options, adapters));
    return new QuantizedBody(runtime, given.base, graph);
  }

  /** Reads one token of each sequence. @param picked rows of `tokens` */
  next(adapters: Feeds, tokens: NextTokens, picked: PickedRows): Promise<BodyOutputs> {
    return this.#run(adapters, tokens, noSequences, picked);
  }

  /** Reads whole sequences. @param picked indices in the ids of the sequences */
  read(adapters: Feeds, sequences: Sequences, picked = nonePicked): Promise<BodyOutputs> {
    const { ids } = this.#noTokens;
    const rows = picked.rows.map((row) => row + ids.length);
    return this.#run(adapters, this.#noTokens, sequences, { ...picked, rows });
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
    const feeds = {
      ...adapters,
      ...this.#rope.feeds(Math.max(tokens.capacity, time)),
      ...tokens.cache,
      embedded: floats(base.embed(all), [all.length, base.config.hiddenSize]),
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

// The graph cannot divide zero sequences into rows, so a sequence of one token takes their place. The
// second row also keeps a product of a single row with numbers from rounding differently.
const noSequences: Sequences = { ids: new Int32Array(1), time: 1 };
const nonePicked: PickedRows = { rows: new Int32Array(1), inverseTemperature: Float32Array.of(1) };

function noTokens(runtime: GraphRuntime, config: ModelConfig): NextTokens {
  const cache = runtime.cache(cacheLayout(config, 1));
  cache.reserve(1);
  return {
    ids: new Int32Array(1),
    positions: new Int32Array(1),
    cache: cache.feeds(0, 1),
    capacity: 1,
  };
}
