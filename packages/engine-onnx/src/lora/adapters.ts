/**
 * Low-rank adapters of a model during training. The base weights stay unchanged, and every set of
 * weights that trainer or sampler use is the base with the adapters merged in.
 */
import type { ModelConfig } from '../model/config.js';
import type { LayerAdapters } from '../model/layer-graphs.js';
import type { ParameterSpec } from '../model/parameters.js';
import type { TrainingGraphOptions } from '../model/training-graphs.js';
import { parameterSpecs } from '../model/parameters.js';
import type { WeightBuffers } from '../model/weights.js';
import type { ModelRecord } from '../onnx/graph/record.js';
import type {
  ArraySet,
  DeviceArray,
  DeviceArrays,
  Feeds,
  HostArray,
  LoadedGraph,
} from '../runtime/graph-runtime.js';
import { floats } from '../runtime/host-arrays.js';
import { planUpdate, type AdamWOptions, type Optimizer } from '../train/adamw.js';
import { GradientSum, type SummedGradient } from '../train/gradient.js';
import type { Trainable } from '../train/trainable.js';
import { packedWeights, plainWeights, type FrozenWeights } from './frozen-weights.js';
import { adapterGradientGraph, mergeGraph } from './graphs.js';
import {
  adapterScale,
  adapterSpecs,
  adapterTargets,
  type AdapterPlan,
  type AdapterTarget,
} from './plan.js';

export interface AdaptersOptions {
  readonly config: ModelConfig;
  readonly plan: AdapterPlan;
  /**
   * Weight buffers of the model. When the adapters are opened, `training` must hold the base
   * weights.
   */
  readonly weights: WeightBuffers;
  /**
   * True if the frozen reference model also uses the base in `weights.training`. That buffer is
   * then never written to.
   * @default false
   */
  readonly sharesBase?: boolean | undefined;
  /**
   * Initial adapter matrices in one flat array, in the order of `adapterTargets`. The array is not
   * copied, and training updates it in place.
   */
  readonly initial: Float32Array;
}

/**
 * Trains the factors A and B of W + (alpha / rank) B A. Trainer and sampler both use merged
 * matrices. Their log-probabilities therefore agree as they do without adapters, and a forward pass
 * costs no more. The gradient graph computes dL/dA and dL/dB without computing the gradient of the
 * full matrix W.
 */
export class Adapters implements Trainable {
  readonly plan: AdapterPlan;
  readonly specs: readonly ParameterSpec[];
  readonly feeds: Feeds;
  readonly adapters: LayerAdapters;
  /** Frozen weights of the model, without the adapters. */
  readonly base: FrozenWeights;
  /** Matrices of all adapters; updated in place. */
  readonly set: ArraySet;
  readonly #config: ModelConfig;
  readonly #targets: readonly AdapterTarget[];
  readonly #weights: WeightBuffers;
  #merger: LoadedGraph | undefined;

  private constructor({ config, plan, weights, initial }: AdaptersOptions, base: FrozenWeights) {
    this.plan = plan;
    this.#config = config;
    this.#targets = adapterTargets(config, plan);
    this.specs = adapterSpecs(this.#targets);
    this.adapters = { targets: this.#targets, scale: adapterScale(plan) };
    this.set = weights.runtime.set(this.specs, initial);
    this.feeds = this.set.arrays;
    this.#weights = weights;
    this.base = base;
  }

  static async open(options: AdaptersOptions): Promise<Adapters> {
    return new Adapters(options, await frozen(options.weights, options.sharesBase ?? false));
  }

  backwardGraph(options: TrainingGraphOptions): ModelRecord {
    return adapterGradientGraph(this.#config, this.plan, options);
  }

  newGradient(): GradientSum {
    return new GradientSum(this.#weights.runtime, this.specs);
  }

  async update(sum: SummedGradient, state: Optimizer, options: AdamWOptions): Promise<void> {
    // A pending merge must read the adapters before this update changes them.
    await this.#weights.settled();
    const sets = { ...state, from: this.set, to: this.set, gradient: sum.set };
    await this.#weights.runtime.adamW(sets, planUpdate(this.specs, state, options));
    this.#weights.rewriteLater((from, to) => this.#mergeInto(to, from));
  }

  /** Sets the training weights to the base with the adapters merged in. */
  merge(): Promise<void> {
    return this.#weights.rewrite((from, to) => this.#mergeInto(to, from));
  }

  async #mergeInto({ arrays: to }: ArraySet, { arrays: from }: ArraySet): Promise<void> {
    const { runtime } = this.#weights;
    const { arrays } = this.set;
    this.#merger ??= await runtime.load(mergeGraph(this.plan), 'train');
    // A set that is rewritten in place already has the other parameters.
    if (to !== from) this.#copyOthers(to);
    for (const { weight, a, b } of this.#targets) {
      const factors = { a: arrays[a.name]!, b: arrays[b.name]! };
      const inputs = { weight: this.#frozen(weight), ...factors };
      await this.#merger.run(inputs, { merged: to[weight.name]! });
    }
  }

  /** Copies the parameters that have no adapter. */
  #copyOthers(to: DeviceArrays): void {
    const adapted = new Set(this.#targets.map(({ weight }) => weight.name));
    for (const spec of parameterSpecs(this.#config))
      if (!adapted.has(spec.name)) this.#weights.runtime.copy(to[spec.name]!, this.#frozen(spec));
  }

  #frozen(spec: ParameterSpec): DeviceArray | HostArray {
    return this.base.arrays?.[spec.name] ?? floats(this.base.part(spec), spec.shape);
  }

  /**
   * Restores the adapters of a checkpoint.
   * @param flat matrices of all adapters
   * @param weights weights with the adapters merged in; computed if undefined
   */
  async restore(flat: Float32Array, weights: Float32Array | undefined): Promise<void> {
    await this.#weights.settled();
    this.#weights.runtime.copySet(this.set, flat);
    if (weights) this.#weights.update(weights);
    else await this.merge();
  }

  /** Frees the merge graph. The weights are not freed, because they belong to the caller. */
  async close(): Promise<void> {
    await this.#merger?.free();
  }
}

/**
 * Returns the current training weights as the base. Packs them as bfloat16 if this loses nothing
 * and the reference model does not share them.
 */
async function frozen(weights: WeightBuffers, isShared: boolean): Promise<FrozenWeights> {
  const flat = await weights.runtime.readSet(weights.training);
  const packed = isShared ? undefined : packedWeights(flat);
  return packed ?? plainWeights(flat, weights.lease().set.arrays);
}
