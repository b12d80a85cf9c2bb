/**
 * The adapters of a model during training: the base stays unchanged, and every set of weights is the
 * base with the adapters merged in.
 */
import { Tensor, type InferenceSession } from 'onnxruntime-node';

import type { ModelConfig } from '../model/config.js';
import type { LayerAdapters } from '../model/layer-graphs.js';
import type { ParameterSpec } from '../model/parameters.js';
import type { TrainingGraphOptions } from '../model/training-graphs.js';
import type { Feeds, WeightBuffers, WeightLease } from '../model/weights.js';
import { createSession } from '../runtime/session.js';
import { adamW, type AdamWOptions, type OptimizerState } from '../train/adamw.js';
import { GradientSum, type SummedGradient } from '../train/gradient.js';
import type { Trainable } from '../train/trainable.js';
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
  /** Its training set is the base, and is never written to. */
  readonly weights: WeightBuffers;
  /** All matrices in the order of `adapterTargets`; becomes the state, and is not copied. */
  readonly initial: Float32Array;
  /** Threads inside one operator. */
  readonly threads: number;
}

/**
 * Trains the factors A and B of W + alpha / rank B A. Trainer and sampler work on merged matrices,
 * so they agree as without adapters, and neither computes more; the gradient graph computes dL/dA and
 * dL/dB without the gradient of a whole matrix.
 */
export class Adapters implements Trainable {
  readonly plan: AdapterPlan;
  readonly specs: readonly ParameterSpec[];
  readonly feeds: Feeds;
  readonly adapters: LayerAdapters;
  /** All matrices; updated in place. */
  readonly flat: Float32Array;
  readonly #config: ModelConfig;
  readonly #targets: readonly AdapterTarget[];
  readonly #weights: WeightBuffers;
  readonly #base: WeightLease;
  readonly #threads: number;
  #merger: InferenceSession | undefined;

  constructor({ config, plan, weights, initial, threads }: AdaptersOptions) {
    this.plan = plan;
    this.flat = initial;
    this.#config = config;
    this.#targets = adapterTargets(config, plan);
    this.specs = adapterSpecs(this.#targets);
    this.adapters = { targets: this.#targets, scale: adapterScale(plan) };
    this.feeds = Object.fromEntries(this.specs.map((spec) => [spec.name, view(initial, spec)]));
    this.#weights = weights;
    this.#base = weights.lease();
    this.#threads = threads;
  }

  /** The frozen weights. */
  get base(): Float32Array {
    return this.#base.flat;
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
    adamW(this.specs, this.flat, this.flat, gradient.flat, state, options);
    await this.merge();
  }

  /** Sets the training weights to the base with the adapters merged in. */
  async merge(): Promise<void> {
    this.#merger ??= await createSession(mergeGraph(this.plan), {
      threads: this.#threads,
      kind: 'train',
    });
    const merger = this.#merger;
    await this.#weights.replace(async (to) => {
      to.set(this.#base.flat);
      for (const { weight, a, b } of this.#targets) {
        const feeds = {
          weight: view(this.#base.flat, weight),
          a: view(this.flat, a),
          b: view(this.flat, b),
        };
        const { merged } = await merger.run(feeds);
        to.set(merged?.data as Float32Array, weight.offset);
      }
    });
  }

  /** Continues from a checkpoint: the matrices, and the merged weights if it has them. */
  async restore(flat: Float32Array, weights: Float32Array | undefined): Promise<void> {
    this.flat.set(flat);
    if (weights) await this.#weights.replace(async (to) => to.set(weights));
    else await this.merge();
  }

  /** Frees the session. The weights belong to the caller. */
  async close(): Promise<void> {
    await this.#merger?.release();
  }
}

/** The tensor of a parameter, as a view of the flat array. */
const view = (flat: Float32Array, { shape, offset, size }: ParameterSpec): Tensor =>
  new Tensor('float32', flat.subarray(offset, offset + size), shape);
