/** A model with quantised weights, loaded: the sampler and the scores of the trainer run the same graphs. */
import { Tensor, type InferenceSession } from 'onnxruntime-node';

import type { LayerAdapters } from '../model/layer-graphs.js';
import { headName } from '../model/parameters.js';
import type { DecodeVariant } from '../model/sampling-graphs.js';
import type { Feeds } from '../model/weights.js';
import {
  decodeResult,
  floats,
  lazySessions,
  newPositions,
  run,
  type DecodeResult,
  type SamplerKernels,
} from '../sample/kernels.js';
import { isBlocks, type QuantizedBase } from './base.js';
import type { ScoredRows } from '../train/trainable.js';
import { QuantizedBody } from './body.js';
import { drawGraph, headGraph, scoreGraph } from './graphs.js';
import { feedsOf, loadGraph } from './session.js';

/** Bytes of the head's product that exist at once while text is scored, about. */
const productBytes = 32 * 2 ** 20;
/** More rows are not faster. */
const maxRows = 512;

export class QuantizedModel {
  readonly base: QuantizedBase;
  readonly kernels: SamplerKernels;
  readonly #body: QuantizedBody;
  readonly #head: InferenceSession;
  readonly #light: ReturnType<typeof lazySessions>;
  #closing: Promise<void> | undefined;

  private constructor(
    base: QuantizedBase,
    threads: number,
    { body, head }: { readonly body: QuantizedBody; readonly head: InferenceSession },
  ) {
    this.base = base;
    this.#body = body;
    this.#head = head;
    this.#light = lazySessions(threads);
    const { config } = base;
    // A single row of numbers is multiplied by another kernel; fewer heads than threads would be divided.
    const fewest = isBlocks(base.of({ name: headName(config) })) ? 1 : 2;
    this.kernels = {
      config,
      window: { min: Math.max(fewest, Math.ceil(threads / config.kvHeads)), max: maxRows },
      weightBytes: base.bytes,
      prefill: async (adapters, ids, _rows, time) =>
        newPositions(config, await body.read(adapters, { ids, time }), 'sequence'),
      decode: (variant, adapters, feeds, capacity) =>
        this.#decode(variant, adapters, feeds, capacity),
      close: () => this.#close(),
    };
  }

  /** @param threads inside one operator */
  static async open(
    base: QuantizedBase,
    adapters: LayerAdapters,
    threads: number,
  ): Promise<QuantizedModel> {
    const body = await QuantizedBody.open(base, adapters, threads);
    const head = await loadGraph({ base, threads }, headGraph);
    return new QuantizedModel(base, threads, { body, head });
  }

  async #decode(
    variant: DecodeVariant,
    adapters: Feeds,
    { ids, positions, inverse_temperature: inverseTemperature, u, ...cache }: Feeds,
    capacity: number,
  ): Promise<DecodeResult> {
    const tokens = {
      ids: ids?.data as Int32Array,
      positions: positions?.data as Int32Array,
      cache,
      capacity,
    };
    const body = await this.#body.next(adapters, tokens, {
      rows: Int32Array.from(tokens.ids, (_, i) => i),
      inverseTemperature: inverseTemperature?.data as Float32Array,
    });
    const light = await this.#light.get(variant, () => drawGraph(this.base.config, variant));
    const inputs = { inverse_temperature: inverseTemperature!, ...(u && { u }) };
    const drawn = await this.#fromStates(light, body['states'] as Tensor, inputs);
    return decodeResult(this.base.config, variant, { ...body, ...drawn });
  }

  /** Scores of picked rows, bit for bit as the sampler reports them; the names are those of `scoresOf`. */
  async score<Name extends string>(
    adapters: Feeds,
    { targets, ...picked }: ScoredRows,
    names: readonly Name[],
  ): Promise<Readonly<Record<Name, Float32Array>>> {
    const { config } = this.base;
    const { hiddenSize: width, vocabSize } = config;
    const { states } = await this.#body.read(adapters, picked, picked);
    const has = (name: string): boolean => names.some((each) => each === name);
    const kind = { entropy: has('entropy'), necs: has('necs') };
    const light = await this.#light.get(JSON.stringify(kind), () => scoreGraph(config, kind));
    const found = Object.fromEntries(
      names.map((name) => [name, new Float32Array(targets.length)]),
    ) as Record<Name, Float32Array>;
    for (const { start, end } of partsOf(targets.length, productBytes / 4 / vocabSize)) {
      const numbers = (from: Float32Array, columns = 1): Tensor =>
        new Tensor('float32', from.subarray(start * columns, end * columns), [
          end - start,
          columns,
        ]);
      const scores = await this.#fromStates(light, numbers(states?.data as Float32Array, width), {
        targets: new Tensor('int32', targets.subarray(start, end), [end - start, 1]),
        inverse_temperature: numbers(picked.inverseTemperature),
      });
      for (const name of names) found[name].set(floats(scores, name), start);
    }
    return found;
  }

  /** Runs a graph without weights on the product of states and head. */
  async #fromStates(light: InferenceSession, states: Tensor, inputs: Feeds) {
    const { product } = await run(this.#head, { states });
    return run(light, feedsOf(light, { ...inputs, product: product as Tensor }));
  }

  /** Once, however often the engine is closed. */
  #close(): Promise<void> {
    return (this.#closing ??= this.#release());
  }

  async #release(): Promise<void> {
    await this.#light.close();
    await this.#body.close();
    await this.#head.release();
  }
}

/** Equal parts of about `most` rows, of at least 2: so the last may overlap the one before. */
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
