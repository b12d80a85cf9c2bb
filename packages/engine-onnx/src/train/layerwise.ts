/**
 * Gradients layer by layer: only the states between layers are kept, each layer is computed again for
 * its gradient, and the head goes through the vocabulary in parts. Needs far less memory than one graph
 * for the whole model, and a third more time.
 */
import { Tensor, type InferenceSession } from 'onnxruntime-node';
import { layerTraits, type ModelConfig } from '../model/config.js';
import {
  layerGradientGraph,
  layerGraph,
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
  layerPrefix,
  layerSpecs,
} from '../model/parameters.js';
import type { Feeds } from '../model/weights.js';
import type { BlockFormat } from '../onnx/ops/blocks.js';
import { createSession } from '../runtime/session.js';
import { addTo, type GradientSum } from './gradient.js';
import { vocabularyPart } from './memory.js';
import type { MicroBatchArrays } from './micro-batch.js';
import type { BlockWeights } from './trainable.js';

export interface LayerwiseOptions {
  readonly config: ModelConfig;
  readonly threads: number;
  /** Bytes for a part of the head. */
  readonly headBytes: number;
  /** @default the parameters are trained */
  readonly adapters?: LayerAdapters;
  /** The weights, if they are quantised; the feeds hold them too. */
  readonly base?: BlockWeights;
  readonly turn: <T>(run: () => Promise<T>) => Promise<T>;
}

/** One micro-batch. */
export interface LayerwiseBatch {
  readonly arrays: MicroBatchArrays;
  readonly time: number;
  /** Parameters, adapters, rotary tables and those of branches. */
  readonly feeds: Feeds;
  /** dL/doutput of the picked positions. [R, 1] */
  readonly gradLogprobs: Tensor;
  readonly gradEntropy?: Tensor;
}

type Outputs = InferenceSession.OnnxValueMapType;

export class LayerwiseGradients {
  readonly #options: LayerwiseOptions;
  readonly #sessions = new Map<string, Promise<InferenceSession>>();

  constructor(options: LayerwiseOptions) {
    this.#options = options;
  }

  /** Adds the gradient of a micro-batch; returns the log-probabilities of its targets. [R] */
  async addTo(sum: GradientSum, batch: LayerwiseBatch): Promise<Float32Array> {
    const { config, adapters, base } = this.#options;
    const { ids } = batch.arrays;
    const states = [embedded(config, batch, base)];
    await this.#phase(async () => {
      for (let layer = 0; layer < config.layers; layer++) {
        const { y } = await this.#layer(layer, { ...batch.feeds, x: states[layer] });
        states.push(y as Tensor);
      }
    });
    const head = await this.#phase(() => this.#head(sum, batch, states.pop() as Tensor));
    const gradient = await this.#phase(() => this.#layers(sum, batch, states, head.gradient));
    if (!adapters) sum.putLookups(scaled(gradient.data as Float32Array, config), ids);
    sum.endBatch();
    return head.logprobs;
  }

  /**
   * The gradients of all layers are added; returns dL/d(states before the first one).
   * @param states before each layer; used up
   */
  async #layers(
    sum: GradientSum,
    batch: LayerwiseBatch,
    states: Tensor[],
    last: Tensor,
  ): Promise<Tensor> {
    const { config } = this.#options;
    let gradient = last;
    for (let layer = config.layers - 1; layer >= 0; layer--) {
      const inputs = { ...batch.feeds, x: states.pop(), grad_y: gradient };
      const { grad_x: dx, ...found } = await this.#layer(layer, inputs, 'gradient');
      for (const [name, { data }] of Object.entries(found))
        sum.put(this.#named(layer, name.slice('grad.'.length)), data as Float32Array);
      gradient = dx as Tensor;
    }
    return gradient;
  }

  /** Sessions hold what their runs needed, so those of one phase are freed before the next. */
  async #phase<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      await this.close();
    }
  }

  /** Frees the sessions. */
  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    for (const session of sessions) await (await session).release();
  }

  /** The head's own gradients are added; returns dL/d(states after the last layer). */
  async #head(
    sum: GradientSum,
    batch: LayerwiseBatch,
    x: Tensor,
  ): Promise<{ readonly gradient: Tensor; readonly logprobs: Float32Array }> {
    const { config, adapters } = this.#options;
    const { rows, spread, inverseTemperature, padded } = batch.arrays;
    const inputs = {
      ...batch.feeds,
      x,
      rows: new Tensor('int32', rows, [padded]),
      spread: new Tensor('int32', spread, [spread.length]),
      inverse_temperature: new Tensor('float32', inverseTemperature, [padded, 1]),
    };
    const { states } = await this.#run('states', () => statesGraph(config), inputs);
    const scored = { ...inputs, states };
    const gradient = new Float32Array(padded * config.hiddenSize);
    const logprobs = await this.#logits(sum, batch, scored, gradient);
    const frozen = adapters !== undefined;
    const found = await this.#run('states gradient', () => statesGradientGraph(config, frozen), {
      ...scored,
      grad_states: new Tensor('float32', gradient, [padded, config.hiddenSize]),
    });
    const norm = finalNormName(config);
    if (!frozen) sum.put(norm, found[`grad.${norm}`]?.data);
    return { gradient: found['grad_x'] as Tensor, logprobs };
  }

  /** Adds dL/dstates to `gradient`; returns the log-probabilities of the targets. [R] */
  async #logits(
    sum: GradientSum,
    { arrays, feeds, gradLogprobs, gradEntropy }: LayerwiseBatch,
    inputs: Inputs,
    gradient: Float32Array,
  ): Promise<Float32Array> {
    const { config, adapters, headBytes, base } = this.#options;
    const formats = base?.formats;
    const options = { entropy: gradEntropy !== undefined, frozen: adapters !== undefined, formats };
    const name = headName(config);
    const parts = partsOf(config, vocabularyPart(config, arrays.padded, headBytes));
    const totals = new LogitTotals(arrays.padded);
    const weightOf = ({ start, end }: Part): Feeds => {
      if (base) return base.part(name, 'weight', start, end);
      const weight = feeds[name]?.data as Float32Array;
      const numbers = weight.subarray(start * config.hiddenSize, end * config.hiddenSize);
      return { weight: new Tensor('float32', numbers, [end - start, config.hiddenSize]) };
    };
    for (const part of parts) {
      const targets = targetsIn(part, arrays, gradLogprobs);
      const found = await this.#run('logits', () => logitsGraph(config, formats), {
        ...inputs,
        ...targets,
        ...weightOf(part),
      });
      totals.add(found, (i) => isIn(part, arrays.targets[i] ?? -1));
    }
    const known = {
      ...inputs,
      ...totals.feeds(),
      grad_logprobs: gradLogprobs,
      grad_entropy: gradEntropy,
    };
    const kind = options.entropy ? 'logits gradient, entropy' : 'logits gradient';
    for (const part of parts) {
      const found = await this.#run(kind, () => logitsGradientGraph(config, options), {
        ...known,
        ...targetsIn(part, arrays, gradLogprobs),
        ...weightOf(part),
      });
      addTo(gradient, found['grad_states']?.data as Float32Array);
      if (!options.frozen)
        sum.put(name, found['grad_weight']?.data, part.start * config.hiddenSize);
    }
    return totals.logprobs();
  }

  #layer(layer: number, inputs: Inputs, kind?: 'gradient'): Promise<Outputs> {
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

  /** The name of a parameter of the layer whose graph is used, in this layer. */
  #named(layer: number, name: string): string {
    const model = layerPrefix(this.#sharing(layer));
    return layerPrefix(layer) + name.slice(model.length);
  }

  /** The first layer with the same graph. */
  #sharing(layer: number): number {
    const { config, base } = this.#options;
    const key = (index: number): string =>
      JSON.stringify([
        layerTraits(config, index),
        base && layerSpecs(config, index).map(({ name }) => formatKey(base.formats.get(name))),
      ]);
    let first = 0;
    while (first < layer && key(first) !== key(layer)) first++;
    return first;
  }

  async #run(name: string, graph: () => Uint8Array, inputs: Inputs): Promise<Outputs> {
    const { threads, turn } = this.#options;
    const opened = this.#sessions.get(name) ?? createSession(graph(), { threads, kind: 'train' });
    this.#sessions.set(name, opened);
    const session = await opened;
    const feeds = Object.fromEntries(
      session.inputNames.flatMap((input) => {
        const value = inputs[input];
        return value ? [[input, value] as const] : [];
      }),
    );
    return turn(() => session.run(feeds));
  }
}

const formatKey = (format: BlockFormat | undefined): readonly unknown[] =>
  format ? [format.bits, format.length, format.hasOffsets] : [];

type Inputs = Readonly<Record<string, Tensor | undefined>>;

/** Rows of the embedding matrix, as the first layer reads them. */
function embedded(
  config: ModelConfig,
  { arrays, time, feeds }: LayerwiseBatch,
  base: BlockWeights | undefined,
): Tensor {
  const { hiddenSize: width } = config;
  const shape = [arrays.ids.length / time, time, width];
  if (base) return new Tensor('float32', scaled(base.embed(arrays.ids), config), shape);
  const table = feeds[embeddingName]?.data as Float32Array;
  const rows = new Float32Array(arrays.ids.length * width);
  for (const [i, id] of arrays.ids.entries())
    rows.set(table.subarray(id * width, (id + 1) * width), i * width);
  return new Tensor('float32', scaled(rows, config), shape);
}

function scaled(values: Float32Array, { embeddingScale }: ModelConfig): Float32Array {
  return embeddingScale ? values.map((value) => value * embeddingScale) : values;
}

/** Tokens `start` to `end`, exclusive. */
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

function targetsIn(part: Part, { targets }: MicroBatchArrays, gradLogprobs: Tensor): Inputs {
  const shape = [targets.length, 1];
  const own = gradLogprobs.data as Float32Array;
  return {
    targets: new Tensor(
      'int32',
      targets.map((token) => (isIn(part, token) ? token - part.start : 0)),
      shape,
    ),
    grad_targets: new Tensor(
      'float32',
      own.map((value, i) => (isIn(part, targets[i] ?? -1) ? value : 0)),
      shape,
    ),
  };
}

/** Sums over the vocabulary, of logits that come in parts. */
class LogitTotals {
  readonly #largest: Float64Array;
  /** Sum of e^(l - largest). */
  readonly #sum: Float64Array;
  /** Dot of e^(l - largest) l. */
  readonly #dot: Float64Array;
  /** Logits of the targets. */
  readonly #target: Float32Array;

  constructor(rows: number) {
    this.#largest = new Float64Array(rows).fill(-Infinity);
    this.#sum = new Float64Array(rows);
    this.#dot = new Float64Array(rows);
    this.#target = new Float32Array(rows);
  }

  /** @param hasTarget whether the target of a row is in the part */
  add(found: Outputs, hasTarget: (row: number) => boolean): void {
    const [largest, sum, dot, target] = ['largest', 'sum', 'dot', 'target'].map(
      (name) => found[name]?.data as Float32Array,
    ) as [Float32Array, Float32Array, Float32Array, Float32Array];
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

  /** Logprobs of the targets. [R] */
  logprobs(): Float32Array {
    return this.#target.map((logit, i) => logit - this.#logOf(i));
  }

  /** log(sum(e^l)), and the entropy of the distribution. [R, 1] */
  feeds(): Inputs {
    const shape = [this.#sum.length, 1];
    const total = Float32Array.from(this.#sum, (_, i) => this.#logOf(i));
    const entropy = total.map((value, i) => value - this.#dot[i]! / this.#sum[i]!);
    return {
      log_total: new Tensor('float32', total, shape),
      own_entropy: new Tensor('float32', entropy, shape),
    };
  }

  /** log(sum(e^l)) */
  #logOf(row: number): number {
    return this.#largest[row]! + Math.log(this.#sum[row]!);
  }
}
