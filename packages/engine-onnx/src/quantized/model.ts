/**
 * A loaded model with quantised weights. The sampler and the trainer's scoring use the same graphs.
 */
import type { LayerAdapters } from '../model/layer-graphs.js';
import type { DecodeVariant } from '../model/sampling-graphs.js';
import type { DeviceArray, Feeds, HostArray, LoadedGraph } from '../runtime/graph-runtime.js';
import { floats, freeAll, ints } from '../runtime/host-arrays.js';
import { lazyGraphs, type LazyGraphs } from '../runtime/lazy-graphs.js';
import type { OnnxRuntime } from '../runtime/onnx-runtime.js';
import {
  decodeResult,
  newPositions,
  type DecodeResult,
  type SamplerKernels,
} from '../sample/kernels.js';
import type { QuantizedBase } from './base.js';
import type { ScoredRows } from '../train/trainable.js';
import { productRows, QuantizedBody, type PickedRows } from './body.js';
import { drawGraph, headGraph, scoreGraph } from './graphs.js';
import { loadGraph } from './session.js';

/**
 * Approximate size in bytes of the product of hidden states and head that is in memory at once
 * during scoring.
 */
const productBytes = 32 * 2 ** 20;
/** Maximum number of rows in one execution of a graph. More rows do not increase the throughput. */
const maxRows = 512;

export class QuantizedModel {
  readonly base: QuantizedBase;
  readonly kernels: SamplerKernels;
  readonly #body: QuantizedBody;
  readonly #head: LoadedGraph;
  readonly #runtime: OnnxRuntime;
  readonly #light: LazyGraphs;
  #closing: Promise<void> | undefined;

  private constructor(
    runtime: OnnxRuntime,
    { base, threads }: { readonly base: QuantizedBase; readonly threads: number },
    { body, head }: { readonly body: QuantizedBody; readonly head: LoadedGraph },
  ) {
    this.base = base;
    this.#runtime = runtime;
    this.#body = body;
    this.#head = head;
    this.#light = lazyGraphs(runtime, 'sample');
    const { config } = base;
    // Attention computes one product per row and head. If there were fewer products than threads,
    // the threads would divide each product.
    const fewest = Math.ceil(threads / config.kvHeads);
    this.kernels = {
      runtime,
      config,
      window: { min: fewest, max: maxRows },
      weightBytes: base.graphBytes,
      prefill: async (adapters, ids, time) =>
        newPositions(config, await body.read(adapters, { ids, time }), 'sequence'),
      decode: (variant, adapters, feeds, capacity) =>
        this.#decode(variant, adapters, feeds, capacity),
      close: () => this.#close(),
    };
  }

  static async open(
    runtime: OnnxRuntime,
    base: QuantizedBase,
    adapters: LayerAdapters,
  ): Promise<QuantizedModel> {
    const given = { base, threads: runtime.threads.sample };
    const body = await QuantizedBody.open(runtime, given, adapters);
    try {
      const head = await loadGraph(runtime, given, headGraph);
      return new QuantizedModel(runtime, given, { body, head });
    } catch (error) {
      await body.close();
      throw error;
    }
  }

  async #decode(
    variant: DecodeVariant,
    adapters: Feeds,
    { ids, positions, inverse_temperature: inverseTemperature, u, ...cache }: Feeds,
    capacity: number,
  ): Promise<DecodeResult> {
    const tokens = {
      ids: (ids as HostArray).data as Int32Array,
      positions: (positions as HostArray).data as Int32Array,
      cache,
      capacity,
    };
    const rows = Int32Array.from(tokens.ids, (_, i) => i);
    const factors = (inverseTemperature as HostArray).data as Float32Array;
    const body = await this.#body.next(adapters, tokens, productPicks(rows, factors));
    const light = await this.#light.get(variant, () => drawGraph(this.base.config, variant));
    const inputs = { inverse_temperature: inverseTemperature!, ...(u && { u }) };
    const { states, ...fresh } = body;
    const drawn = await this.#fromStates(light, states!, rows.length, inputs);
    return decodeResult(this.#runtime, this.base.config, variant, { ...fresh, ...drawn });
  }

  /**
   * Scores selected rows. The log-probabilities equal those that the sampler reports, bit for bit.
   * @param names results to compute, named as in `scoresOf`
   */
  async score<Name extends string>(
    adapters: Feeds,
    { targets, ...picked }: ScoredRows,
    names: readonly Name[],
  ): Promise<Readonly<Record<Name, Float32Array>>> {
    const { config } = this.base;
    const { vocabSize } = config;
    const { rows, inverseTemperature } = picked;
    const { states, ...others } = await this.#body.read(
      adapters,
      picked,
      productPicks(rows, inverseTemperature),
    );
    freeAll(others);
    const has = (name: string): boolean => names.some((each) => each === name);
    const kind = { entropy: has('entropy'), necs: has('necs') };
    const light = await this.#light.get(JSON.stringify(kind), () => scoreGraph(config, kind));
    const found = Object.fromEntries(
      names.map((name) => [name, new Float32Array(targets.length)]),
    ) as Record<Name, Float32Array>;
    const most = Math.max(16, Math.floor(productBytes / 4 / vocabSize / 16) * 16);
    for (let start = 0; start < targets.length; start += most) {
      const count = Math.min(most, targets.length - start);
      const part = this.#runtime.rows(states!, start, start + productRows(count));
      const column = [count, 1];
      const scores = await this.#fromStates(light, part, count, {
        targets: ints(targets.subarray(start, start + count), column),
        inverse_temperature: floats(inverseTemperature.subarray(start, start + count), column),
      });
      for (const name of names)
        found[name].set((await this.#runtime.read(scores[name]!)) as Float32Array, start);
      freeAll(scores);
    }
    states!.free();
    return found;
  }

  /**
   * Computes the product of hidden states and head, and executes a graph without weights on the
   * product's first `count` rows.
   */
  async #fromStates(light: LoadedGraph, states: DeviceArray, count: number, inputs: Feeds) {
    const { product } = await this.#head.run({ states });
    const found = await light.run({ ...inputs, product: this.#runtime.rows(product!, 0, count) });
    freeAll({ product });
    return found;
  }

  /** Closes the model; repeated calls have no effect. */
  #close(): Promise<void> {
    return (this.#closing ??= this.#release());
  }

  async #release(): Promise<void> {
    await this.#light.close();
    await this.#body.close();
    await this.#head.free();
  }
}

/**
 * Returns the selected rows. Repeats the last row if the head would otherwise use the kernel for a
 * single row; see {@link productRows}.
 */
function productPicks(rows: Int32Array, inverseTemperature: Float32Array): PickedRows {
  const last = rows.length - 1;
  const picks = Array.from({ length: productRows(rows.length) }, (_, i) => Math.min(i, last));
  return {
    rows: Int32Array.from(picks, (i) => rows[i]!),
    inverseTemperature: Float32Array.from(picks, (i) => inverseTemperature[i]!),
  };
}
