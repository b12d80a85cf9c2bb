/** A model with quantised weights, loaded: the sampler and the scores of the trainer run the same graphs. */
import type { LayerAdapters } from '../model/layer-graphs.js';
import { headName } from '../model/parameters.js';
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
import { isBlocks, type QuantizedBase } from './base.js';
import type { ScoredRows } from '../train/trainable.js';
import { QuantizedBody } from './body.js';
import { drawGraph, headGraph, scoreGraph } from './graphs.js';
import { loadGraph } from './session.js';

/** Approximate bytes of the head's product that exist at once while text is scored. */
const productBytes = 32 * 2 ** 20;
/** Maximum rows of a run; more rows are not faster. */
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
    // A single row is multiplied by another kernel, except by blocks of 8 bits: float32 everywhere, blocks of 4 bits
    // on processors without AVX-512. Fewer heads than threads would be divided.
    const stored = base.of({ name: headName(config) });
    const fewest = isBlocks(stored) && stored.bits === 8 ? 1 : 2;
    this.kernels = {
      runtime,
      config,
      window: { min: Math.max(fewest, Math.ceil(threads / config.kvHeads)), max: maxRows },
      weightBytes: base.bytes,
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
    const body = await this.#body.next(adapters, tokens, {
      rows: Int32Array.from(tokens.ids, (_, i) => i),
      inverseTemperature: (inverseTemperature as HostArray).data as Float32Array,
    });
    const light = await this.#light.get(variant, () => drawGraph(this.base.config, variant));
    const inputs = { inverse_temperature: inverseTemperature!, ...(u && { u }) };
    const { states, ...fresh } = body;
    const drawn = await this.#fromStates(light, states!, inputs);
    return decodeResult(this.#runtime, this.base.config, variant, { ...fresh, ...drawn });
  }

  /** Scores of picked rows, bit for bit as the sampler reports them; the names are those of `scoresOf`. */
  async score<Name extends string>(
    adapters: Feeds,
    { targets, ...picked }: ScoredRows,
    names: readonly Name[],
  ): Promise<Readonly<Record<Name, Float32Array>>> {
    const { config } = this.base;
    const { vocabSize } = config;
    const { states, ...others } = await this.#body.read(adapters, picked, picked);
    freeAll(others);
    const has = (name: string): boolean => names.some((each) => each === name);
    const kind = { entropy: has('entropy'), necs: has('necs') };
    const light = await this.#light.get(JSON.stringify(kind), () => scoreGraph(config, kind));
    const found = Object.fromEntries(
      names.map((name) => [name, new Float32Array(targets.length)]),
    ) as Record<Name, Float32Array>;
    for (const { start, end } of partsOf(targets.length, productBytes / 4 / vocabSize)) {
      const column = [end - start, 1];
      const scores = await this.#fromStates(light, this.#runtime.rows(states!, start, end), {
        targets: ints(targets.subarray(start, end), column),
        inverse_temperature: floats(picked.inverseTemperature.subarray(start, end), column),
      });
      for (const name of names)
        found[name].set((await this.#runtime.read(scores[name]!)) as Float32Array, start);
      freeAll(scores);
    }
    states!.free();
    return found;
  }

  /** Runs a graph without weights on the product of states and head. */
  async #fromStates(light: LoadedGraph, states: DeviceArray, inputs: Feeds) {
    const { product } = await this.#head.run({ states });
    const found = await light.run({ ...inputs, product: product! });
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
 * Parts of equal size, about `most` rows and at least 2; the last part may be shorter, or overlap
 * the part before it.
 */
function partsOf(
  rows: number,
  most: number,
): readonly { readonly start: number; readonly end: number }[] {
  const size = Math.ceil(rows / Math.ceil(rows / Math.max(2, most)));
  return Array.from({ length: Math.ceil(rows / size) }, (_, i) => ({
    start: Math.max(0, Math.min(i * size, rows - 2)),
    end: Math.min((i + 1) * size, rows),
  }));
}
