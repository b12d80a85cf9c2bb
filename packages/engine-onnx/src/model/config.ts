/**
 * Configuration of a model: Hugging Face's `config.json`, validated and in one format for all
 * families.
 */

import { InvariantError } from '@trinity-rft/core';

/** Supported model families, named by the values of `model_type` in config.json. */
export const modelFamilies = [
  'qwen3',
  'qwen2',
  'llama',
  'mistral',
  'phi3',
  'olmo2',
  'olmo3',
  'smollm3',
  'gemma2',
  'gemma3_text',
  'gemma4_text',
  'qwen3_moe',
  'lfm2',
  'qwen3_5_text',
  'granite',
  'granitemoehybrid',
  'ministral3',
] as const;
export type ModelFamily = (typeof modelFamilies)[number];

/** Scaling of rotary frequencies for long contexts. */
export type RopeScaling =
  | { readonly kind: 'linear'; readonly factor: number }
  | {
      /**
       * Frequencies are computed for the whole head, but only the first ones are used. The others
       * are 0.
       */
      readonly kind: 'proportional';
      readonly factor: number;
      /** Fraction of the frequencies that are used. */
      readonly part: number;
    }
  | {
      readonly kind: 'llama3';
      readonly factor: number;
      readonly lowFreqFactor: number;
      readonly highFreqFactor: number;
      readonly originalMaxPositions: number;
    }
  | {
      readonly kind: 'yarn';
      readonly factor: number;
      /**
       * Frequencies with at least this many rotations over the original context length are not
       * scaled.
       */
      readonly betaFast: number;
      /** Frequencies with at most this many rotations are divided by `factor`. */
      readonly betaSlow: number;
      /** Factor by which cosines and sines are multiplied. */
      readonly attentionFactor: number;
      readonly originalMaxPositions: number;
      /**
       * True if the bounds of the range in which frequencies are blended are rounded to whole
       * dimensions.
       */
      readonly truncate: boolean;
    }
  | {
      readonly kind: 'longrope';
      /** Divisor of each frequency, in sequences of up to `originalMaxPositions` tokens. */
      readonly divisors: readonly number[];
      /** Factor by which cosines and sines are multiplied. */
      readonly attentionFactor: number;
      readonly originalMaxPositions: number;
    };

/**
 * Rotary embeddings of the layers with `rope: 'local'`, which differ from those of the other
 * layers.
 */
export interface LocalRope {
  /** Width of one head. @default {@link ModelConfig.headDim} */
  readonly headDim?: number;
  readonly theta: number;
  readonly scaling?: RopeScaling;
}

/**
 * Way in which a layer mixes the positions of a sequence: attention, a short convolution between
 * two gates, or the gated delta rule.
 */
export type Mixer = 'attention' | 'conv' | 'delta';

/** Heads of a layer with the gated delta rule. */
export interface DeltaShape {
  /** Number of heads of queries and keys; divides {@link valueHeads}. */
  readonly keyHeads: number;
  readonly keyDim: number;
  readonly valueHeads: number;
  readonly valueDim: number;
}

/** Ways in which a layer differs from the default, which is full causal attention. */
export interface LayerTraits {
  /** Mixer of the layer. @default attention */
  readonly mixer?: Exclude<Mixer, 'attention'>;
  /**
   * Number of positions that a query sees, including its own.
   * @default all positions up to its own
   */
  readonly window?: number;
  /**
   * `local` selects {@link ModelConfig.localRope}; `none` applies no rotary embeddings.
   * @default undefined: the rotary embeddings of the model
   */
  readonly rope?: 'local' | 'none';
  /** True for a plain feed-forward block in a model with experts. */
  readonly dense?: true;
  /** Width of one head. @default {@link ModelConfig.headDim} */
  readonly headDim?: number;
  /**
   * Earlier layer whose keys and values the layer reads.
   * @default the layer's own keys and values
   */
  readonly keysOf?: number;
  /** Width of the feed-forward block. @default {@link ModelConfig.intermediateSize} */
  readonly intermediateSize?: number;
}

/**
 * Per-layer embeddings: inputs of every layer that are looked up by token, in addition to the
 * embedding.
 */
export interface PerLayerInputs {
  /** Number of values per token and layer. */
  readonly size: number;
  /** Number of rows of the embedding table. */
  readonly vocabSize: number;
}

/** Feed-forward blocks, some of which a router selects for every token. */
export interface Experts {
  readonly count: number;
  /** Number of experts per token. */
  readonly active: number;
  /** Width of one expert. */
  readonly size: number;
  /** True if the weights of the selected experts are scaled to sum to 1. */
  readonly normalize: boolean;
}

/** Activation of the gate: silu, or GELU with the error function or its tanh approximation. */
export type Activation = 'silu' | 'gelu' | 'gelu_tanh';

/**
 * Position of the norms of a block's two branches: x + f(norm(x)), x + norm(f(x)), or x +
 * norm(f(norm(x))).
 */
export type NormPlacement = 'before' | 'after' | 'around';

/** All properties of a model that the graphs depend on. Sizes are counts; ids are token ids. */
export interface ModelConfig {
  readonly family: ModelFamily;
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly layers: number;
  /** Number of query heads. */
  readonly heads: number;
  /** Number of key and value heads; divides {@link heads}. */
  readonly kvHeads: number;
  /** Width of one head; even. */
  readonly headDim: number;
  /**
   * Rotary dimension: number of leading dimensions of a head that are rotated; even.
   * @default {@link headDim}
   */
  readonly rotaryDim?: number;
  readonly intermediateSize: number;
  readonly normEpsilon: number;
  readonly ropeTheta: number;
  readonly ropeScaling?: RopeScaling;
  /** Position of the norms. @default 'before' */
  readonly norms?: NormPlacement;
  /**
   * Offset that is added to the weights of every norm except those in gated delta layers.
   * @default 0
   */
  readonly normOffset?: number;
  /** True if queries and keys are normalised with RMSNorm. */
  readonly qkNorm: boolean;
  /**
   * `projection`: one norm covers all heads of the queries or keys.
   * @default undefined: each head is normalised separately
   */
  readonly qkNormScope?: 'projection';
  /** True if each head's values are normalised with RMSNorm without weights. @default false */
  readonly valueNorm?: boolean;
  /** True if the output of each layer is multiplied by a stored scalar. @default false */
  readonly layerScalar?: boolean;
  /** Per-layer embeddings of the model. @default no such inputs */
  readonly perLayerInputs?: PerLayerInputs;
  /**
   * True if the attention output of each head is multiplied by a gate, which the query projection
   * computes.
   * @default false
   */
  readonly gatedAttention?: boolean;
  readonly qkvBias: boolean;
  /** True if the attention's output projection has a bias. */
  readonly outputBias: boolean;
  readonly mlpBias: boolean;
  /** True if the output head uses the embedding matrix as its weight. */
  readonly tieEmbeddings: boolean;
  /** True if one matrix projects to queries, keys and values. @default false */
  readonly fusedAttention?: boolean;
  /** True if one matrix projects to gate and up in a feed-forward block. @default false */
  readonly fusedFeedForward?: boolean;
  /** Activation of the gate. @default 'silu' */
  readonly activation?: Activation;
  /** Factor by which attention scores are multiplied. @default 1 / sqrt(headDim) */
  readonly attentionScale?: number;
  /** Soft cap of attention scores: each becomes cap * tanh(score / cap). @default no cap */
  readonly attentionCap?: number;
  /** Soft cap of logits: each becomes cap * tanh(logit / cap). @default no cap */
  readonly logitCap?: number;
  /** Factor by which embeddings are multiplied. @default 1 */
  readonly embeddingScale?: number;
  /** Factor by which the result of a branch is multiplied before it is added. @default 1 */
  readonly residualScale?: number;
  /** Factor by which logits are multiplied, before they are capped. @default 1 */
  readonly logitScale?: number;
  readonly localRope?: LocalRope;
  readonly experts?: Experts;
  /** Number and width of the heads in gated delta layers; undefined if there are no such layers. */
  readonly delta?: DeltaShape;
  /**
   * Number of positions that a convolution reads, including its own; undefined if no layer has a
   * convolution.
   */
  readonly convTaps?: number;
  /** Traits of each layer, by index. @default undefined: every layer has the default traits */
  readonly layerTraits?: readonly LayerTraits[];
  /** Longest sequence that the engine supports for the model, in tokens. */
  readonly maxPositions: number;
  /** Key of config.json that limits {@link maxPositions}. @default 'max_position_embeddings' */
  readonly positionsKey?: 'original_max_position_embeddings';
  readonly bosTokenId?: number;
  readonly eosTokenIds: readonly number[];
  readonly padTokenId?: number;
  /**
   * `value`: the head computes one value per position.
   * @default undefined: the head computes a distribution over tokens
   */
  readonly head?: 'value';
}

/** Returns the traits of a layer. @param layer index from 0 */
export function layerTraits(config: ModelConfig, layer: number): LayerTraits {
  return config.layerTraits?.[layer] ?? {};
}

/** Returns the width of one head of a layer. */
export const headDimOf = (config: ModelConfig, layer: number): number =>
  layerTraits(config, layer).headDim ?? config.headDim;

/** Returns the layer whose keys and values a layer reads, which is the layer itself by default. */
export const keysOf = (config: ModelConfig, layer: number): number =>
  layerTraits(config, layer).keysOf ?? layer;

/** Returns true if later layers read the keys and values of a layer. */
export const isReadLater = (config: ModelConfig, layer: number): boolean =>
  config.layerTraits?.some((traits) => traits.keysOf === layer) ?? false;

/** Returns the indices of the layers that compute keys and values, in order. */
export const cachedLayers = (config: ModelConfig): readonly number[] =>
  Array.from({ length: config.layers }, (_, layer) => layer).filter(
    (layer) => !layerTraits(config, layer).mixer && keysOf(config, layer) === layer,
  );

/**
 * Returns the greatest common divisor of the head widths of all layers with keys and values. Cached
 * keys and values are divided into parts of this width.
 */
export function cacheUnit(config: ModelConfig): number {
  const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));
  return cachedLayers(config)
    .map((layer) => headDimOf(config, layer))
    .reduce(divisor);
}

/**
 * Returns the number of parts of width {@link cacheUnit} in the keys and values of one position. If
 * all heads have the same width, this is the number of key heads and value heads of all layers.
 */
export function cacheHeads(config: ModelConfig): number {
  const width = cachedLayers(config).reduce((sum, layer) => sum + headDimOf(config, layer), 0);
  return (2 * config.kvHeads * width) / cacheUnit(config);
}

/**
 * Returns the heads of the layers with the gated delta rule.
 * @throws InvariantError when no layer has the gated delta rule
 */
export function deltaShape({ delta }: ModelConfig): DeltaShape {
  if (delta) return delta;
  throw new InvariantError('The model has no heads for the gated delta rule.');
}

/**
 * Returns the number of channels of the convolution before the gated delta rule: queries, keys and
 * values.
 */
export function deltaChannels(config: ModelConfig): number {
  const { keyHeads, keyDim, valueHeads, valueDim } = deltaShape(config);
  return 2 * keyHeads * keyDim + valueHeads * valueDim;
}
