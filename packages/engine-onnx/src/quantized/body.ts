/** The body of a model with quantised weights: from tokens to states, and to keys and values. */
import { Tensor, type InferenceSession } from 'onnxruntime-node';

import type { ModelConfig } from '../model/config.js';
import type { LayerAdapters } from '../model/layer-graphs.js';
import { RopeFeeds } from '../model/rope.js';
import { rowStates } from '../model/row-states.js';
import type { Feeds } from '../model/weights.js';
import { run } from '../sample/kernels.js';
import { cacheNames } from '../sample/kv-pool.js';
import { StateRows } from '../sample/state-rows.js';
import type { QuantizedBase } from './base.js';
import { bodyGraph } from './graphs.js';
import { feedsOf, loadGraph } from './session.js';

/** One token of each sequence, whose earlier tokens are in a cache. */
export interface NextTokens {
  readonly ids: Int32Array;
  readonly positions: Int32Array;
  /** `k.<l>`, `v.<l>`, and states */
  readonly cache: Feeds;
  /** Positions of the cache. */
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
type BodyOutputs = InferenceSession.OnnxValueMapType;

export class QuantizedBody {
  readonly #base: QuantizedBase;
  readonly #session: InferenceSession;
  readonly #rope: RopeFeeds;
  readonly #noTokens: NextTokens;

  private constructor(base: QuantizedBase, session: InferenceSession) {
    this.#base = base;
    this.#session = session;
    this.#rope = new RopeFeeds(base.config);
    this.#noTokens = noTokens(base.config);
  }

  static async open(
    base: QuantizedBase,
    adapters: LayerAdapters,
    threads: number,
  ): Promise<QuantizedBody> {
    const session = await loadGraph({ base, threads }, (options) => bodyGraph(options, adapters));
    return new QuantizedBody(base, session);
  }

  /** Reads one token of each sequence. @param picked rows of `tokens` */
  next(adapters: Feeds, tokens: NextTokens, picked: PickedRows): Promise<BodyOutputs> {
    return this.#run(adapters, tokens, noSequences, picked);
  }

  /** Reads whole sequences. @param picked places in their ids */
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
      embedded: new Tensor('float32', base.embed(all), [all.length, base.config.hiddenSize]),
      positions: new Tensor('int64', positions, [all.length, 1]),
      slots: new Tensor('int32', tokens.positions, [single, 1]),
      sequences: new Tensor('int32', ids, [ids.length / time, time]),
      rows: new Tensor('int32', rows, [rows.length]),
      inverse_temperature: new Tensor('float32', inverseTemperature, [rows.length, 1]),
    };
    return run(this.#session, feedsOf(this.#session, feeds));
  }

  /** Frees the session. */
  close(): Promise<void> {
    return this.#session.release();
  }
}

// The graph divides the rows of no sequence wrongly: where there are none, one token takes their place. It
// also makes a single row two, of which a product with numbers has the bits of more.
const noSequences: Sequences = { ids: new Int32Array(1), time: 1 };
const nonePicked: PickedRows = { rows: new Int32Array(1), inverseTemperature: Float32Array.of(1) };

function noTokens(config: ModelConfig): NextTokens {
  const { kvHeads, headDim } = config;
  const empty = new Tensor('float32', new Float32Array(kvHeads * headDim), [
    1,
    kvHeads,
    1,
    headDim,
  ]);
  const states = new StateRows(rowStates(config));
  states.grow(1);
  return {
    ids: new Int32Array(1),
    positions: new Int32Array(1),
    cache: {
      ...Object.fromEntries(cacheNames(config).map((name) => [name, empty])),
      ...states.feeds(0, 1),
    },
    capacity: 1,
  };
}
