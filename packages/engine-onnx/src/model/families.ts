/**
 * Traits of the model families, as data. Defaults of config.json are in `configDefaults` of
 * `@trinity-rft/chat`.
 */
import type { Mixer, ModelConfig, ModelFamily } from './config.js';

/** Layers whose attention is limited to `sliding_window`, for configs without `layer_types`. */
export type WindowPattern =
  /** All layers. */
  | 'all'
  /** Layers from `max_window_layers` on. */
  | 'late'
  /** All layers except every `sliding_window_pattern`-th layer. */
  | 'interleaved'
  /** Layers without rotary embeddings. */
  | 'unrotated';

export interface Family {
  /** Prefix of the family's class names in transformers. */
  readonly className: string;
  /**
   * Class of the body in transformers, for a family without a class for token classification.
   * @default the family has a class for token classification
   */
  readonly bodyClass?: string;
  /** Traits of every model of the family. */
  readonly traits?: Pick<
    ModelConfig,
    | 'norms'
    | 'normOffset'
    | 'qkNormScope'
    | 'fusedAttention'
    | 'fusedFeedForward'
    | 'gatedAttention'
    | 'valueNorm'
    | 'layerScalar'
  > & { readonly qkNorm?: true };
  /**
   * Projections with a bias. `qkv`: always queries, keys and values; `key`: queries, keys, values
   * and the output, if the key `attention_bias` is true.
   */
  readonly attentionBias?: 'qkv' | 'key';
  /** True if `mlp_bias` of config.json applies. */
  readonly mlpBias?: true;
  /** True if embeddings are multiplied by sqrt(hidden_size). */
  readonly scaledEmbeddings?: true;
  /** True if attention scores are not scaled. */
  readonly unscaledScores?: true;
  /**
   * True if `global_head_dim`, `num_kv_shared_layers`, `use_double_wide_mlp` and
   * `hidden_size_per_layer_input` apply.
   */
  readonly sharedKeys?: true;
  /**
   * True if `embedding_multiplier`, `attention_multiplier`, `residual_multiplier` and
   * `logits_scaling` apply.
   */
  readonly multipliers?: true;
  readonly windows?: {
    readonly layers: WindowPattern;
    /** True if windows depend on `use_sliding_window`. */
    readonly switched?: true;
    /** True if layers with a window have separate rotary embeddings. */
    readonly localRope?: true;
  };
  /** True if `partial_rotary_factor` of config.json applies. */
  readonly partialRotary?: true;
  /**
   * True if queries are scaled up by `llama_4_scaling_beta` from position
   * `original_max_position_embeddings` on.
   */
  readonly growingQueries?: true;
  /**
   * Replacements for values of `rope_type`: maps a value in config.json to the scaling that the
   * family actually uses.
   */
  readonly ropeTypes?: Readonly<Record<string, string>>;
  /** True if `no_rope_layers` of config.json applies. */
  readonly unrotatedLayers?: true;
  /**
   * True for a family with both hybrid and dense models. `position_embedding_type` selects whether
   * a model has rotary embeddings.
   */
  readonly hybrid?: true;
  /** True if the keys of experts in config.json apply. */
  readonly experts?: true;
  /** Mixer of layers without attention. */
  readonly recurrent?: Exclude<Mixer, 'attention'>;
  /** Names of modules that differ from those of most families, keyed by the usual name. */
  readonly names?: Readonly<Record<string, string>>;
}

const olmo = {
  traits: { norms: 'after', qkNorm: true, qkNormScope: 'projection' },
  attentionBias: 'key',
} as const;
const granite = { multipliers: true, attentionBias: 'key' } as const;

export const families: Readonly<Record<ModelFamily, Family>> = {
  qwen3: {
    className: 'Qwen3',
    traits: { qkNorm: true },
    attentionBias: 'key',
    windows: { layers: 'late', switched: true },
  },
  qwen2: {
    className: 'Qwen2',
    attentionBias: 'qkv',
    windows: { layers: 'late', switched: true },
  },
  llama: {
    className: 'Llama',
    attentionBias: 'key',
    mlpBias: true,
  },
  mistral: {
    className: 'Mistral',
    windows: { layers: 'all' },
  },
  ministral3: {
    className: 'Ministral3',
    growingQueries: true,
    windows: { layers: 'all' },
  },
  phi3: {
    className: 'Phi3',
    traits: { fusedAttention: true, fusedFeedForward: true },
    partialRotary: true,
    ropeTypes: { yarn: 'longrope', su: 'longrope' },
    windows: { layers: 'all' },
  },
  olmo2: { ...olmo, className: 'Olmo2', bodyClass: 'Olmo2Model' },
  olmo3: {
    ...olmo,
    className: 'Olmo3',
    bodyClass: 'Olmo3Model',
    windows: { layers: 'interleaved', localRope: true },
  },
  smollm3: {
    className: 'SmolLM3',
    attentionBias: 'key',
    mlpBias: true,
    windows: { layers: 'unrotated', switched: true },
    unrotatedLayers: true,
  },
  gemma2: {
    className: 'Gemma2',
    traits: { norms: 'around', normOffset: 1 },
    attentionBias: 'key',
    scaledEmbeddings: true,
    windows: { layers: 'interleaved' },
  },
  gemma3_text: {
    className: 'Gemma3',
    bodyClass: 'Gemma3TextModel',
    traits: { norms: 'around', normOffset: 1, qkNorm: true },
    attentionBias: 'key',
    scaledEmbeddings: true,
    windows: { layers: 'interleaved', localRope: true },
  },
  gemma4_text: {
    className: 'Gemma4',
    bodyClass: 'Gemma4TextModel',
    traits: { norms: 'around', qkNorm: true, valueNorm: true, layerScalar: true },
    attentionBias: 'key',
    scaledEmbeddings: true,
    unscaledScores: true,
    sharedKeys: true,
    windows: { layers: 'interleaved', localRope: true },
  },
  qwen3_moe: {
    className: 'Qwen3Moe',
    traits: { qkNorm: true },
    attentionBias: 'key',
    windows: { layers: 'all', switched: true },
    experts: true,
  },
  lfm2: {
    className: 'Lfm2',
    bodyClass: 'Lfm2Model',
    traits: { qkNorm: true },
    recurrent: 'conv',
    names: {
      'model.norm': 'model.embedding_norm',
      input_layernorm: 'operator_norm',
      post_attention_layernorm: 'ffn_norm',
      'self_attn.q_norm': 'self_attn.q_layernorm',
      'self_attn.k_norm': 'self_attn.k_layernorm',
      'self_attn.o_proj': 'self_attn.out_proj',
      'mlp.gate_proj': 'feed_forward.w1',
      'mlp.up_proj': 'feed_forward.w3',
      'mlp.down_proj': 'feed_forward.w2',
    },
  },
  qwen3_5_text: {
    className: 'Qwen3_5',
    bodyClass: 'Qwen3_5TextModel',
    traits: { qkNorm: true, normOffset: 1, gatedAttention: true },
    attentionBias: 'key',
    partialRotary: true,
    recurrent: 'delta',
  },
  granite: {
    ...granite,
    className: 'Granite',
    bodyClass: 'GraniteModel',
    mlpBias: true,
  },
  granitemoehybrid: {
    ...granite,
    className: 'GraniteMoeHybrid',
    bodyClass: 'GraniteMoeHybridModel',
    traits: { fusedFeedForward: true },
    hybrid: true,
    names: {
      'mlp.gate_up_proj': 'shared_mlp.input_linear',
      'mlp.down_proj': 'shared_mlp.output_linear',
    },
  },
};
