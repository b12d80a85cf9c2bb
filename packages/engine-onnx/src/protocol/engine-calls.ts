/** Calls that an engine's threads handle. */
import type { MessagePort } from 'node:worker_threads';

import type { Metrics } from '@trinity-rft/core';
import type {
  ForwardOptions,
  ForwardPass,
  OptimizerOptions,
  SamplingOptions,
  StepStats,
  WeightSource,
} from '@trinity-rft/core/engine';

import type { ModelConfig } from '../model/config.js';
import type { PackedBatch, PackedSequences } from './packing.js';

/** Facts about the opened model, which a thread returns once it is ready for calls. */
export interface EngineFacts {
  readonly maxModelLen: number;
  readonly parameters: number;
  /** Number of trained parameters, which an optimizer step changes. */
  readonly trained: number;
  /** Recommended number of parallel samplers for the model. */
  readonly samplers: number;
  readonly config: ModelConfig;
  /** True if the model is the text part of a model that also takes images or audio. */
  readonly isTextPart: boolean;
}

/**
 * Source of a sampler's weights: a {@link WeightSource} from the engine's caller, the current
 * weights of the sampler in the trainer's thread (`initial`), or a copy that another thread sends
 * (`sent`).
 */
export type SamplerWeightSource =
  | WeightSource
  | { readonly kind: 'initial' }
  | { readonly kind: 'sent'; readonly port: MessagePort };

export interface SampleCall {
  readonly prompt: Int32Array;
  readonly options: SamplingOptions;
  /**
   * Index in the request of the first choice that this call samples. Other threads sample the other
   * choices.
   */
  readonly firstChoice: number;
  /** True to report each token as a {@link DrawnToken} when it is sampled. */
  readonly reportTokens: boolean;
}

/** A sampled token that a {@link SampleCall} reports before it ends. */
export type DrawnToken = readonly [choice: number, token: number];

export interface AdoptCall {
  readonly source: SamplerWeightSource;
  readonly version: number;
  /** Ports to the threads to which a copy of these weights is sent. */
  readonly copyTo: readonly MessagePort[];
}

/** Arguments of a save; see `SaveOptions` of core. */
export interface SaveCall {
  readonly directory: string;
  readonly optimizer: boolean;
  readonly merged: boolean;
}

interface BackwardCall {
  readonly batch: PackedBatch;
  readonly offsets: Int32Array;
  readonly logprobs: Float32Array;
  readonly entropy?: Float32Array;
}

export interface EngineMethods {
  open(): EngineFacts;
  sample(call: SampleCall): PackedSequences;
  adopt(call: AdoptCall): void;
  /** Computes the log-probabilities of a batch of one row. */
  score(call: { readonly batch: PackedBatch }): Float32Array;
  forward(call: {
    readonly batch: PackedBatch;
    readonly options: ForwardOptions;
  }): Omit<ForwardPass, 'batch'>;
  /**
   * Computes log-probabilities and accumulates the gradients of the weights, in one pass.
   * @param gradients dLoss/dlogprob of every token, which must not depend on the log-probabilities.
   * [N]
   */
  forwardBackward(call: {
    readonly batch: PackedBatch;
    readonly gradients: Float32Array;
  }): Omit<ForwardPass, 'batch'>;
  backward(call: BackwardCall): void;
  step(options: OptimizerOptions): StepStats;
  publish(): void;
  save(call: SaveCall): void;
  load(call: { readonly directory: string }): void;
  stats(): Metrics;
}
