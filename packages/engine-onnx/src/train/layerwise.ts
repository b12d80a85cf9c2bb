/**
 * Computes gradients layer by layer. Keeps only the hidden states between layers, recomputes each
 * layer for its gradient, and computes the head for one part of the vocabulary at a time. Needs far
 * less memory than one graph for the whole model, and takes a third more time.
 */
import { isReadLater, layerTraits, type ModelConfig } from '../model/config.js';
import {
  layerGradientGraph,
  layerGraph,
  layerInputsGradientGraph,
  layerInputsGraph,
  logitsGradientGraph,
  logitsGraph,
  statesGradientGraph,
  statesGraph,
  type LayerAdapters,
} from '../model/layer-graphs.js';
import {
  embeddingName,
  finalNormName,
  headName,
  layerInputSpecs,
  layerPrefix,
  layerSpecs,
  perLayerNames,
} from '../model/parameters.js';
import type { ModelRecord } from '../onnx/graph/record.js';
import type { BlockFormat } from '../onnx/ops/blocks.js';
import type {
  DeviceArray,
  DeviceArrays,
  Feeds,
  GraphRuntime,
  HostArray,
  LoadedGraph,
} from '../runtime/graph-runtime.js';
import { floats, freeAll, ints } from '../runtime/host-arrays.js';
import { lazyGraphs, type LazyGraphs } from '../runtime/lazy-graphs.js';
import { BesideStates } from './beside-states.js';
import type { GradientSum } from './gradient.js';
import { vocabularyPart } from './memory.js';
import type { MicroBatchArrays } from './micro-batch.js';
import type { BlockWeights } from './trainable.js';

export interface LayerwiseOptions {
  readonly config: ModelConfig;
  readonly runtime: GraphRuntime;
  /** Memory for one part of the head, in bytes. */
  readonly headBytes: number;
  /** Adapters to train. @default undefined: the parameters are trained */
  readonly adapters?: LayerAdapters;
  /** The weights, if they are quantised. The graph inputs contain the same weights. */
  readonly base?: BlockWeights;
  readonly turn: <T>(run: () => Promise<T>) => Promise<T>;
}

/** One micro-batch. */
export interface LayerwiseBatch {
  readonly arrays: MicroBatchArrays;
  readonly time: number;
  /**
   * Graph inputs: parameters, adapters, rotary tables and, for rows that share a prompt,
   * `positions` and `branches`.
   */
  readonly feeds: Feeds;
  /** dL/dlogprob of the selected positions. [R, 1] */
  readonly gradLogprobs: HostArray;
  readonly gradEntropy?: HostArray;
}

export class LayerwiseGradients {
  readonly #options: LayerwiseOptions;
  readonly #graphs: LazyGraphs;
  #last: LoadedGraph | undefined;
  /**
   * True if the memory of a graph is freed before another graph runs, and not only after a phase. A
   * graph keeps the quantised weights that it has converted to floats. Loading it again takes time,
   * so that this is done only if one layer of each kind needs more memory than a part of the head.
   */
  readonly #trims: boolean;

  constructor(options: LayerwiseOptions) {
    this.#options = options;
    this.#graphs = lazyGraphs(options.runtime, 'train');
    const { base, config, headBytes } = options;
    const kinds = new Set(Array.from({ length: config.layers }, (_, i) => this.#sharing(i)));
    const sizes = [...kinds].flatMap((kind) => layerSpecs(config, kind).map(({ size }) => size));
    this.#trims = base !== undefined && 4 * sizes.reduce((sum, size) => sum + size, 0) > headBytes;
  }

  /**
   * Adds the gradient of a micro-batch to `sum`. Returns the log-probabilities of the targets. [R]
   */
  async addTo(sum: GradientSum, batch: LayerwiseBatch): Promise<Float32Array> {
    const { config } = this.#options;
    const states = [this.#rows(batch, embeddingName)];
    const beside = new BesideStates(config, this.#options.runtime);
    await this.#phase(async () => {
      if (config.perLayerInputs) beside.inputs = await this.#layerInputs(batch, states[0]!);
      for (let layer = 0; layer < config.layers; layer++) {
        const inputs = { ...batch.feeds, ...beside.feeds(layer), x: states[layer]! };
        const { y, ...made } = await this.#layer(layer, inputs);
        beside.add(layer, made);
        states.push(y!);
      }
    });
    const head = await this.#phase(() => this.#head(sum, batch, states.pop()!));
    const gradient = await this.#phase(async () => {
      const found = await this.#layers(sum, batch, { states, beside }, head.gradient);
      if (beside.inputGradients.length > 0)
        await this.#layerInputsGradient(sum, batch, beside.inputGradients, found);
      return found;
    });
    sum.putLookups(embeddingName, gradient, batch.arrays.ids, config.embeddingScale);
    sum.endBatch();
    return head.logprobs;
  }

  /**
   * Adds the gradients of all layers to `sum`. Returns the gradient of the hidden states before the
   * first layer.
   * @param states input states of each layer; freed, as are `last` and the arrays of `beside`
   */
  async #layers(
    sum: GradientSum,
    batch: LayerwiseBatch,
    { states, beside }: { readonly states: DeviceArray[]; readonly beside: BesideStates },
    last: DeviceArray,
  ): Promise<DeviceArray> {
    const { config } = this.#options;
    let gradient = last;
    for (let layer = config.layers - 1; layer >= 0; layer--) {
      const inputs = { x: states.pop()!, grad_y: gradient };
      const feeds = { ...batch.feeds, ...beside.feeds(layer), ...inputs };
      const { grad_x: dx, ...found } = await this.#layer(layer, feeds, 'gradient');
      const trained = beside.addGradients(layer, found);
      for (const [name, array] of Object.entries(trained))
        sum.put(this.#named(layer, name.slice('grad.'.length)), array);
      freeAll(inputs);
      gradient = dx!;
    }
    return gradient;
  }

  /** Executes a phase, and then frees the memory that its graphs needed. */
  async #phase<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      await this.#graphs.trim();
    }
  }

  /** Frees the graphs. */
  close(): Promise<void> {
    return this.#graphs.close();
  }

  /**
   * Looks up rows of an embedding table. Rows of the embedding matrix are multiplied by the model's
   * embedding scale.
   */
  #rows({ arrays, time, feeds }: LayerwiseBatch, table: string): DeviceArray {
    const { config, runtime, base } = this.#options;
    const isEmbedding = table === embeddingName;
    const scale = isEmbedding ? config.embeddingScale : undefined;
    const width = isEmbedding
      ? config.hiddenSize
      : config.layers * (config.perLayerInputs?.size ?? 0);
    const shape = [arrays.ids.length / time, time, width];
    if (!base) return runtime.takeRows(feeds[table] as DeviceArray, arrays.ids, scale ?? 1, shape);
    const rows = base.embed(arrays.ids, table);
    const data = scale ? rows.map((value) => value * scale) : rows;
    return runtime.array({ dtype: 'float32', shape, data });
  }

  /** Returns the per-layer inputs of all layers. @param x embeddings */
  async #layerInputs(batch: LayerwiseBatch, x: DeviceArray): Promise<readonly DeviceArray[]> {
    const { config, base } = this.#options;
    const rows = this.#rows(batch, perLayerNames.table);
    const graph = () => layerInputsGraph(config, base?.formats);
    const found = await this.#run('layer inputs', graph, { ...batch.feeds, x, rows });
    rows.free();
    return Array.from({ length: config.layers }, (_, layer) => found[`input.${layer}`]!);
  }

  /**
   * Adds the gradients of the parameters that compute the per-layer inputs to `sum`, and the
   * gradient of the embeddings to `gradient`.
   * @param inputGradients gradients of the per-layer inputs, by layer; freed
   */
  async #layerInputsGradient(
    sum: GradientSum,
    batch: LayerwiseBatch,
    inputGradients: readonly DeviceArray[],
    gradient: DeviceArray,
  ): Promise<void> {
    const { config, runtime } = this.#options;
    const inputs = {
      x: this.#rows(batch, embeddingName),
      rows: this.#rows(batch, perLayerNames.table),
      ...Object.fromEntries(inputGradients.map((each, layer) => [`grad_input.${layer}`, each])),
    };
    const graph = () => layerInputsGradientGraph(config);
    const feeds = { ...batch.feeds, ...inputs };
    const found = await this.#run('layer inputs gradient', graph, feeds);
    runtime.add(gradient, found['grad_x']!);
    freeAll({ ...inputs, grad_x: found['grad_x'] });
    for (const { name } of layerInputSpecs(config)) sum.put(name, found[`grad.${name}`]);
    sum.putLookups(perLayerNames.table, found['grad_rows'], batch.arrays.ids);
  }

  /**
   * Adds the gradients of the head to `sum` and frees the states. Returns the gradient of the
   * hidden states after the last layer, and the log-probabilities of the targets [R].
   */
  async #head(
    sum: GradientSum,
    batch: LayerwiseBatch,
    x: DeviceArray,
  ): Promise<{ readonly gradient: DeviceArray; readonly logprobs: Float32Array }> {
    const { config, adapters, runtime } = this.#options;
    const { rows, spread, inverseTemperature, padded } = batch.arrays;
    const inputs = {
      ...batch.feeds,
      x,
      rows: ints(rows, [padded]),
      spread: ints(spread, [spread.length]),
      inverse_temperature: floats(inverseTemperature, [padded, 1]),
    };
    const { states } = await this.#run('states', () => statesGraph(config), inputs);
    const scored = { ...inputs, states: states! };
    const zeros = new Float32Array(padded * config.hiddenSize);
    const gradient = runtime.array(floats(zeros, [padded, config.hiddenSize]));
    const logprobs = await this.#logits(sum, batch, scored, gradient);
    const frozen = adapters !== undefined;
    const found = await this.#run('states gradient', () => statesGradientGraph(config, frozen), {
      ...scored,
      grad_states: gradient,
    });
    freeAll({ x, states, gradient });
    const norm = finalNormName(config);
    if (!frozen) sum.put(norm, found[`grad.${norm}`]);
    return { gradient: found['grad_x']!, logprobs };
  }

  /**
   * Adds the gradient of the states to `gradient`. Returns the log-probabilities of the targets.
   * [R]
   */
  async #logits(
    sum: GradientSum,
    { arrays, feeds, gradLogprobs, gradEntropy }: LayerwiseBatch,
    inputs: Feeds,
    gradient: DeviceArray,
  ): Promise<Float32Array> {
    const { config, runtime, adapters, headBytes, base } = this.#options;
    const formats = base?.formats;
    const options = { entropy: gradEntropy !== undefined, frozen: adapters !== undefined, formats };
    const name = headName(config);
    const parts = partsOf(config, vocabularyPart(config, arrays.padded, headBytes));
    const totals = new LogitTotals(arrays.padded);
    const weightOf = ({ start, end }: Part): Feeds => {
      if (base) return base.part(name, 'weight', start, end);
      return { weight: runtime.rows(feeds[name] as DeviceArray, start, end) };
    };
    for (const part of parts) {
      const targets = targetsIn(part, arrays, gradLogprobs);
      const found = await this.#run('logits', () => logitsGraph(config, formats), {
        ...inputs,
        ...targets,
        ...weightOf(part),
      });
      const read = await Promise.all(totalNames.map((each) => runtime.read(found[each]!)));
      totals.add(read as unknown as Totals, (i) => isIn(part, arrays.targets[i] ?? -1));
      freeAll(found);
    }
    const known = {
      ...inputs,
      ...totals.feeds(),
      grad_logprobs: gradLogprobs,
      ...(gradEntropy && { grad_entropy: gradEntropy }),
    };
    const kind = options.entropy ? 'logits gradient, entropy' : 'logits gradient';
    for (const part of parts) {
      const found = await this.#run(kind, () => logitsGradientGraph(config, options), {
        ...known,
        ...targetsIn(part, arrays, gradLogprobs),
        ...weightOf(part),
      });
      const { grad_states: gradStates, grad_weight: gradWeight } = found;
      runtime.add(gradient, gradStates!);
      gradStates!.free();
      if (!options.frozen) sum.put(name, gradWeight, part.start);
    }
    return totals.logprobs();
  }

  #layer(layer: number, inputs: Feeds, kind?: 'gradient'): Promise<DeviceArrays> {
    const { config, adapters, base } = this.#options;
    const first = this.#sharing(layer);
    const [own, used] = [layerPrefix(layer), layerPrefix(first)];
    const named = Object.fromEntries(
      Object.entries(inputs).map(([name, value]) => [
        name.startsWith(own) ? used + name.slice(own.length) : name,
        value,
      ]),
    );
    const branching = inputs['branches'] !== undefined;
    const options = { adapters, branching, formats: base?.formats };
    const graph = kind ? layerGradientGraph : layerGraph;
    const name = `layer ${first} ${kind ?? ''} ${options.branching ? 'branching' : ''}`;
    return this.#run(name, () => graph(config, first, options), named);
  }

  /** Returns the name in `layer` of a parameter that has another layer's name in a shared graph. */
  #named(layer: number, name: string): string {
    const model = layerPrefix(this.#sharing(layer));
    return layerPrefix(layer) + name.slice(model.length);
  }

  /** Returns the first layer that has the same graph as `layer`. */
  #sharing(layer: number): number {
    const { config, base } = this.#options;
    const key = (index: number): string =>
      JSON.stringify([
        layerTraits(config, index),
        isReadLater(config, index),
        base && layerSpecs(config, index).map(({ name }) => formatKey(base.formats.get(name))),
      ]);
    let first = 0;
    while (first < layer && key(first) !== key(layer)) first++;
    return first;
  }

  async #run(name: string, record: () => ModelRecord, inputs: Feeds): Promise<DeviceArrays> {
    const graph = await this.#graphs.get(name, record);
    if (this.#trims && this.#last !== graph) await this.#last?.trim();
    this.#last = graph;
    return this.#options.turn(() => graph.run(inputs));
  }
}

const formatKey = (format: BlockFormat | undefined): readonly unknown[] =>
  format ? [format.bits, format.length, format.hasOffsets] : [];

/** A part of the vocabulary: the tokens from `start` up to, but not including, `end`. */
interface Part {
  readonly start: number;
  readonly end: number;
}

function partsOf({ vocabSize }: ModelConfig, size: number): readonly Part[] {
  return Array.from({ length: Math.ceil(vocabSize / size) }, (_, i) => ({
    start: i * size,
    end: Math.min(vocabSize, (i + 1) * size),
  }));
}

const isIn = ({ start, end }: Part, token: number): boolean => token >= start && token < end;

function targetsIn(part: Part, { targets }: MicroBatchArrays, gradLogprobs: HostArray): Feeds {
  const shape = [targets.length, 1];
  const own = gradLogprobs.data as Float32Array;
  return {
    targets: ints(
      targets.map((token) => (isIn(part, token) ? token - part.start : 0)),
      shape,
    ),
    grad_targets: floats(
      own.map((value, i) => (isIn(part, targets[i] ?? -1) ? value : 0)),
      shape,
    ),
  };
}

/** Sums over one part of the vocabulary, in the order of {@link totalNames}. [R] each */
type Totals = readonly [Float32Array, Float32Array, Float32Array, Float32Array];
const totalNames = ['largest', 'sum', 'dot', 'target'];

/** Running sums over the vocabulary, one part of the vocabulary at a time. */
class LogitTotals {
  readonly #largest: Float64Array;
  /** Sum of e^(l - largest). */
  readonly #sum: Float64Array;
  /** Dot product of e^(l - largest) and l. */
  readonly #dot: Float64Array;
  /** Logits of the targets. */
  readonly #target: Float32Array;

  constructor(rows: number) {
    this.#largest = new Float64Array(rows).fill(-Infinity);
    this.#sum = new Float64Array(rows);
    this.#dot = new Float64Array(rows);
    this.#target = new Float32Array(rows);
  }

  /**
   * Adds the sums of one part. @param hasTarget returns true if the target of a row is in the part
   */
  add([largest, sum, dot, target]: Totals, hasTarget: (row: number) => boolean): void {
    for (const [i, own] of largest.entries()) {
      const before = this.#largest[i]!;
      const both = Math.max(before, own);
      const [old, now] = [Math.exp(before - both), Math.exp(own - both)];
      this.#largest[i] = both;
      this.#sum[i] = this.#sum[i]! * old + sum[i]! * now;
      this.#dot[i] = this.#dot[i]! * old + dot[i]! * now;
      if (hasTarget(i)) this.#target[i] = target[i]!;
    }
  }

  /** Returns the log-probabilities of the targets. [R] */
  logprobs(): Float32Array {
    return this.#target.map((logit, i) => logit - this.#logOf(i));
  }

  /** Returns log(sum(e^l)) and the entropy of the distribution. [R, 1] each */
  feeds(): Feeds {
    const shape = [this.#sum.length, 1];
    const total = Float32Array.from(this.#sum, (_, i) => this.#logOf(i));
    const entropy = total.map((value, i) => value - this.#dot[i]! / this.#sum[i]!);
    return {
      log_total: floats(total, shape),
      own_entropy: floats(entropy, shape),
    };
  }

  /** Returns log(sum(e^l)) for a row. */
  #logOf(row: number): number {
    return this.#largest[row]! + Math.log(this.#sum[row]!);
  }
}
