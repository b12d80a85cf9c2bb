/**
 * The adapters of a model during training. The base stays unchanged, and every set of weights is
 * the base with the adapters merged in.
 */
import { Tensor, type InferenceSession } from 'onnxruntime-node';

import type { ModelConfig } from '../model/config.js';
import type { LayerAdapters } from '../model/layer-graphs.js';
import type { ParameterSpec } from '../model/parameters.js';
import type { TrainingGraphOptions } from '../model/training-graphs.js';
import { parameterSpecs } from '../model/parameters.js';
import type { Feeds, WeightBuffers } from '../model/weights.js';
import { createSession } from '../runtime/session.js';
import { adamW, type AdamWOptions, type OptimizerState } from '../train/adamw.js';
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
  /** Buffers of weights; the training set holds the base. */
  readonly weights: WeightBuffers;
  /**
   * True if the frozen reference model uses the base in that set, which is then never written to.
   * @default false
   */
  readonly sharesBase?: boolean | undefined;
  /**
   * Initial matrices in the order of `adapterTargets`. The array is not copied, and becomes the
   * state.
   */
  readonly initial: Float32Array;
  /** Threads inside one operator. */
  readonly threads: number;
}

/**
 * Trains the factors A and B of W + alpha / rank B A. Trainer and sampler both use merged matrices,
 * so they agree as they do without adapters, and need no further computation; the gradient graph
 * computes dL/dA and dL/dB without the gradient of a whole matrix.
 */
export class Adapters implements Trainable {
  readonly plan: AdapterPlan;
  readonly specs: readonly ParameterSpec[];
  readonly feeds: Feeds;
  readonly adapters: LayerAdapters;
  /** The frozen weights. */
  readonly base: FrozenWeights;
  /** Values of all matrices; updated in place. */
  readonly flat: Float32Array;
  readonly #config: ModelConfig;
  readonly #targets: readonly AdapterTarget[];
  readonly #weights: WeightBuffers;
  readonly #threads: number;
  #merger: InferenceSession | undefined;

  constructor({ config, plan, weights, initial, threads, sharesBase = false }: AdaptersOptions) {
    this.plan = plan;
    this.flat = initial;
    this.#config = config;
    this.#targets = adapterTargets(config, plan);
    this.specs = adapterSpecs(this.#targets);
    this.adapters = { targets: this.#targets, scale: adapterScale(plan) };
    this.feeds = Object.fromEntries(this.specs.map((spec) => [spec.name, view(initial, spec)]));
    this.#weights = weights;
    this.base = frozen(weights, sharesBase);
    this.#threads = threads;
  }

  backwardGraph(options: TrainingGraphOptions): Uint8Array {
    return adapterGradientGraph(this.#config, this.plan, options);
  }

  newGradient(): GradientSum {
    return new GradientSum(this.specs);
  }

  async update(
    gradient: SummedGradient,
    state: OptimizerState,
    options: AdamWOptions,
  ): Promise<void> {
    // What is merged later must be these adapters, not those after the next step.
    await this.#weights.settled();
    adamW(this.specs, this.flat, this.flat, gradient.flat, state, options);
    this.#weights.rewriteLater((from, to) => this.#mergeInto(to, from));
  }

  /** Sets the training weights to the base with the adapters merged in. */
  merge(): Promise<void> {
    return this.#weights.rewrite((from, to) => this.#mergeInto(to, from));
  }

  async #mergeInto(to: Float32Array, from: Float32Array): Promise<void> {
    this.#merger ??= await createSession(mergeGraph(this.plan), {
      threads: this.#threads,
      kind: 'train',
    });
    // A set that is rewritten has the other parameters already.
    if (to !== from) this.#copyOthers(to);
    for (const { weight, a, b } of this.#targets) {
      const feeds = {
        weight: new Tensor('float32', this.base.part(weight), weight.shape),
        a: view(this.flat, a),
        b: view(this.flat, b),
      };
      const { merged } = await this.#merger.run(feeds);
      to.set(merged?.data as Float32Array, weight.offset);
    }
  }

  /** Copies the parameters that have no adapter. */
  #copyOthers(to: Float32Array): void {
    const adapted = new Set(this.#targets.map(({ weight }) => weight.name));
    for (const spec of parameterSpecs(this.#config))
      if (!adapted.has(spec.name)) to.set(this.base.part(spec), spec.offset);
  }

  /**
   * Continues from a checkpoint: sets the matrices, and the merged weights if the checkpoint has
   * them.
   */
  async restore(flat: Float32Array, weights: Float32Array | undefined): Promise<void> {
    await this.#weights.settled();
    this.flat.set(flat);
    if (weights) await this.#weights.replace(async (to) => to.set(weights));
    else await this.merge();
  }

  /** Frees the session. The weights belong to the caller. */
  async close(): Promise<void> {
    await this.#merger?.release();
  }
}

/** The weights of the training set, packed if possible. */
function frozen(weights: WeightBuffers, isShared: boolean): FrozenWeights {
  const { flat } = weights.training;
  const packed = isShared ? undefined : packedWeights(flat);
  return packed ?? plainWeights(weights.lease().flat);
}

/** A parameter as a tensor, which is a view of the flat array. */
const view = (flat: Float32Array, { shape, offset, size }: ParameterSpec): Tensor =>
  new Tensor('float32', flat.subarray(offset, offset + size), shape);
