/** The shape of a model: a `config.json` of Hugging Face, checked and in one format for all families. */

/** Families by `model_type` of config.json. */
export const modelFamilies = [
  'qwen3',
  'qwen2',
  'llama',
  'mistral',
  'phi3',
  'olmo2',
  'smollm3',
  'gemma2',
  'gemma3_text',
  'qwen3_moe',
] as const;
export type ModelFamily = (typeof modelFamilies)[number];

/** How rotary frequencies are scaled for long contexts. */
export type RopeScaling =
  | { readonly kind: 'linear'; readonly factor: number }
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
      /** Rotations over the original positions from which a frequency is kept. */
      readonly betaFast: number;
      /** Rotations up to which a frequency is divided by the factor. */
      readonly betaSlow: number;
      /** Factor on cosines and sines. */
      readonly attentionFactor: number;
      readonly originalMaxPositions: number;
      /** The bounds of the blend are whole dimensions. */
      readonly truncate: boolean;
    };

/** Rotary embeddings of some layers, where they differ from those of the model. */
export interface LocalRope {
  readonly theta: number;
  readonly scaling?: RopeScaling;
}

/** Traits that distinguish one layer from a layer that sees all positions before it. */
export interface LayerTraits {
  /** Positions that a query sees, its own among them. @default all up to its own */
  readonly window?: number;
  /** `local`: by {@link ModelConfig.localRope}; `none`: positions are not rotated. @default the model's */
  readonly rope?: 'local' | 'none';
  /** A plain feed-forward block in a model of experts. */
  readonly dense?: true;
}

/** Feed-forward blocks of which a router picks some for every token. */
export interface Experts {
  readonly count: number;
  /** Experts per token. */
  readonly active: number;
  /** Width of one expert. */
  readonly size: number;
  /** The weights of the picked experts sum to 1. */
  readonly normalize: boolean;
}

/** Activation of the gate: silu, or GELU by the error function or by its tanh approximation. */
export type Activation = 'silu' | 'gelu' | 'gelu_tanh';

/**
 * Where the norms of a block's two branches stand: x + f(norm(x)), x + norm(f(x)), or x +
 * norm(f(norm(x))).
 */
export type NormPlacement = 'before' | 'after' | 'around';

/** Everything the graphs need to know about a model. Sizes are counts; ids are token ids. */
export interface ModelConfig {
  readonly family: ModelFamily;
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly layers: number;
  /** Query heads. */
  readonly heads: number;
  /** Key and value heads; divides {@link heads}. */
  readonly kvHeads: number;
  /** Width of one head; even. */
  readonly headDim: number;
  readonly intermediateSize: number;
  readonly normEpsilon: number;
  readonly ropeTheta: number;
  readonly ropeScaling?: RopeScaling;
  /** @default before */
  readonly norms?: NormPlacement;
  /** Added to the weights of every norm. @default 0 */
  readonly normOffset?: number;
  /** RMSNorm of queries and keys. */
  readonly qkNorm: boolean;
  /** It covers all heads together. @default each head for itself */
  readonly qkNormScope?: 'projection';
  readonly qkvBias: boolean;
  /** Bias of the attention's output projection. */
  readonly outputBias: boolean;
  readonly mlpBias: boolean;
  /** The head is the embedding matrix. */
  readonly tieEmbeddings: boolean;
  /** One matrix makes queries, keys and values, and one makes gate and up. @default false */
  readonly fusedProjections?: boolean;
  /** @default silu */
  readonly activation?: Activation;
  /** Factor on the scores of attention. @default 1 / sqrt(headDim) */
  readonly attentionScale?: number;
  /** Scores become cap tanh(score / cap). @default no cap */
  readonly attentionCap?: number;
  /** Likewise for the logits. @default no cap */
  readonly logitCap?: number;
  /** Factor on the embeddings. @default 1 */
  readonly embeddingScale?: number;
  readonly localRope?: LocalRope;
  readonly experts?: Experts;
  /** One per layer. @default no layer differs */
  readonly layerTraits?: readonly LayerTraits[];
  /** Longest sequence the model was made for. */
  readonly maxPositions: number;
  readonly bosTokenId?: number;
  readonly eosTokenIds: readonly number[];
  readonly padTokenId?: number;
  /** `value`: one number per position instead of a distribution over tokens. @default tokens */
  readonly head?: 'value';
}

/** @param layer from 0 on */
export function layerTraits(config: ModelConfig, layer: number): LayerTraits {
  return config.layerTraits?.[layer] ?? {};
}
