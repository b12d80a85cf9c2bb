/** Weights that a trainer changes: all parameters of the model, or adapters added to them. */
import type { ModelConfig } from '../model/config.js';
import type { BlockFormats, LayerAdapters } from '../model/layer-graphs.js';
import {
  embeddingName,
  headName,
  isLookup,
  parameterSpecs,
  type ParameterSpec,
} from '../model/parameters.js';
import { backwardGraph, type TrainingGraphOptions } from '../model/training-graphs.js';
import type { WeightBuffers } from '../model/weights.js';
import type { ModelRecord } from '../onnx/graph/record.js';
import type { Feeds } from '../runtime/graph-runtime.js';
import { planUpdate, type AdamWOptions, type Optimizer } from './adamw.js';
import { GradientSum, type SummedGradient } from './gradient.js';

/**
 * Frozen weights that are block-quantised to integers. The graph inputs contain the same weights.
 */
export interface BlockWeights {
  /** Formats of the block-quantised matrices, keyed by matrix name. */
  readonly formats: BlockFormats;
  /** Returns the rows of an embedding table for the given ids, one after another. */
  embed(ids: Int32Array, table: string): Float32Array;
  /**
   * Returns the rows of a matrix from `start` up to, but not including, `end`, as graph inputs for
   * a matrix named `as`.
   */
  part(name: string, as: string, start: number, end: number): Feeds;
}

/** Whole sequences of `time` tokens, of which some tokens are selected for scoring. */
export interface ScoredRows {
  readonly ids: Int32Array;
  readonly time: number;
  /** Indices of the selected tokens in `ids`; at least 2. [R] */
  readonly rows: Int32Array;
  /** The token that follows each selected token. [R] */
  readonly targets: Int32Array;
  /** 1 / temperature of each selected token. [R] */
  readonly inverseTemperature: Float32Array;
}

/**
 * Scores selected rows. The log-probabilities equal those that the sampler reports, bit for bit.
 * [R] each
 */
type ScoreRows = <Name extends string>(
  adapters: Feeds,
  picked: ScoredRows,
  names: readonly Name[],
) => Promise<Readonly<Record<Name, Float32Array>>>;

export interface Trainable {
  /** The trained parameters, in the order of the gradient and the moments. */
  readonly specs: readonly ParameterSpec[];
  /** Current inputs that the gradient graph takes in addition to the training weights. */
  readonly feeds: Feeds;
  /** The adapters, if adapters are trained instead of the parameters. */
  readonly adapters?: LayerAdapters;
  /** Weights and scoring function; present if adapters are trained on top of quantised weights. */
  readonly quantized?: { readonly base: BlockWeights; readonly score: ScoreRows };
  /** Builds the graph that returns the gradients. */
  backwardGraph(options: TrainingGraphOptions): ModelRecord;
  /** Creates the sum of the outputs of {@link backwardGraph}. */
  newGradient(): GradientSum;
  /**
   * Makes one optimizer update, which replaces the training weights. The gradient and the moments
   * must have the layout of {@link specs}. The gradient may be overwritten.
   */
  update(gradient: SummedGradient, state: Optimizer, options: AdamWOptions): Promise<void>;
}

/** Returns a {@link Trainable} that trains all parameters of a model. */
export function allParameters(config: ModelConfig, weights: WeightBuffers): Trainable {
  const specs = parameterSpecs(config);
  const tables = specs
    .filter(({ name }) => isLookup(name))
    .map((spec) => ({
      spec,
      tied: spec.name === headName(config),
      output: spec.name === embeddingName ? 'grad.embedded' : 'grad.per_layer',
    }));
  return {
    specs,
    feeds: {},
    backwardGraph: (options) => backwardGraph(config, options),
    newGradient: () =>
      new GradientSum(weights.runtime, specs, { tables, newSet: () => weights.takeSet() }),
    update: (sum, state, options) => {
      const gradient = sum.take();
      return weights.rewrite(
        (from, to) =>
          weights.runtime.adamW(
            { ...state, from, to, gradient },
            planUpdate(specs, state, options),
          ),
        gradient,
      );
    },
  };
}
