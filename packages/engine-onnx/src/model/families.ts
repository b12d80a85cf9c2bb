/** Traits of the model families, as data. */
import type { Mixer, ModelConfig, ModelFamily } from './config.js';

/** Layers with the window of `sliding_window`, if `layer_types` does not name them. */
export type WindowPattern =
  /** All layers. */
  | 'all'
  /** Layers from `max_window_layers` on. */
  | 'late'
  /** All layers except each `sliding_window_pattern`-th. */
  | 'interleaved'
  /** Layers without rotary embeddings. */
  | 'unrotated';

export interface Family {
  /** Prefix of the family's class names in transformers. */
  readonly className: string;
  /** Values that transformers assumes for keys that config.json lacks; null stands for no value. */
  readonly defaults: Readonly<Record<string, unknown>>;
  /** Traits of every model of the family. */
  readonly traits?: Pick<
    ModelConfig,
    | 'norms'
    | 'normOffset'
    | 'qkNormScope'
    | 'fusedAttention'
    | 'fusedFeedForward'
    | 'gatedAttention'
  > & { readonly qkNorm?: true };
  /**
   * Projections with a bias. `qkv`: always queries, keys and values; `key`: queries, keys, values and the
   * output, if the key `attention_bias` is true.
   */
  readonly attentionBias?: 'qkv' | 'key';
  /** True if `mlp_bias` applies. */
  readonly mlpBias?: true;
  /** True if embeddings are multiplied by sqrt(hidden_size). */
  readonly scaledEmbeddings?: true;
  /** True if the multipliers of embeddings, scores, branches and logits apply. */
  readonly multipliers?: true;
  readonly windows?: {
    readonly layers: WindowPattern;
    /** True if windows depend on `use_sliding_window`. */
    readonly switched?: true;
    /** True if layers with a window have separate rotary embeddings. */
    readonly localRope?: true;
  };
  /** True if `partial_rotary_factor` applies. */
  readonly partialRotary?: true;
  /** True if queries grow from `original_max_position_embeddings` on, by `llama_4_scaling_beta`. */
  readonly growingQueries?: true;
  /** Meanings of `rope_type` values that differ from their name. */
  readonly ropeTypes?: Readonly<Record<string, string>>;
  /** True if `no_rope_layers` applies. */
  readonly unrotatedLayers?: true;
  /** True for a family of hybrids and dense models, to which `position_embedding_type` applies. */
  readonly hybrid?: true;
  /** True if the keys of experts apply. */
  readonly experts?: true;
  /** Mixer of layers without attention. */
  readonly recurrent?: Exclude<Mixer, 'attention'>;
  /** Names of modules that differ from those in most families, by the name in most families. */
  readonly names?: Readonly<Record<string, string>>;
}

const gemma = {
  head_dim: 256,
  hidden_activation: 'gelu_pytorch_tanh',
  query_pre_attn_scalar: 256,
  sliding_window: 4096,
  tie_word_embeddings: true,
} as const;
const olmo = {
  defaults: { max_position_embeddings: 2_048, rms_norm_eps: 1e-5 },
  traits: { norms: 'after', qkNorm: true, qkNormScope: 'projection' },
  attentionBias: 'key',
} as const;
const granite = { multipliers: true, attentionBias: 'key' } as const;
const qwen = { max_position_embeddings: 32_768, sliding_window: 4096 } as const;

export const families: Readonly<Record<ModelFamily, Family>> = {
  qwen3: {
    className: 'Qwen3',
    defaults: { ...qwen, head_dim: 128, max_window_layers: 28 },
    traits: { qkNorm: true },
    attentionBias: 'key',
    windows: { layers: 'late', switched: true },
  },
  qwen2: {
    className: 'Qwen2',
    defaults: { ...qwen, max_window_layers: 28 },
    attentionBias: 'qkv',
    windows: { layers: 'late', switched: true },
  },
  llama: {
    className: 'Llama',
    defaults: { max_position_embeddings: 2_048 },
    attentionBias: 'key',
    mlpBias: true,
  },
  mistral: {
    className: 'Mistral',
    defaults: { num_key_value_heads: 8, max_position_embeddings: 131_072, sliding_window: 4096 },
    windows: { layers: 'all' },
  },
  ministral3: {
    className: 'Ministral3',
    defaults: {
      num_key_value_heads: 8,
      head_dim: 128,
      max_position_embeddings: 262_144,
      rms_norm_eps: 1e-5,
      rope_theta: 1_000_000,
      rope_scaling: {
        rope_type: 'yarn',
        factor: 16,
        original_max_position_embeddings: 16_384,
        mscale: 1,
        mscale_all_dim: 1,
        llama_4_scaling_beta: 0.1,
      },
    },
    growingQueries: true,
    windows: { layers: 'all' },
  },
  phi3: {
    className: 'Phi3',
    defaults: {
      max_position_embeddings: 4_096,
      original_max_position_embeddings: 4_096,
      rms_norm_eps: 1e-5,
    },
    traits: { fusedAttention: true, fusedFeedForward: true },
    partialRotary: true,
    ropeTypes: { yarn: 'longrope', su: 'longrope' },
    windows: { layers: 'all' },
  },
  olmo2: { ...olmo, className: 'Olmo2' },
  olmo3: {
    ...olmo,
    className: 'Olmo3',
    defaults: {
      ...olmo.defaults,
      rope_theta: 500_000,
      rope_local_base_freq: 500_000,
      sliding_window: 4096,
      sliding_window_pattern: 4,
    },
    windows: { layers: 'interleaved', localRope: true },
  },
  smollm3: {
    className: 'SmolLM3',
    defaults: {
      num_key_value_heads: 4,
      max_position_embeddings: 32_768,
      rope_theta: 2_000_000,
      tie_word_embeddings: true,
      no_rope_layer_interval: 4,
    },
    attentionBias: 'key',
    mlpBias: true,
    windows: { layers: 'unrotated', switched: true },
    unrotatedLayers: true,
  },
  gemma2: {
    className: 'Gemma2',
    defaults: {
      ...gemma,
      num_key_value_heads: 4,
      max_position_embeddings: 8_192,
      attn_logit_softcapping: 50,
      final_logit_softcapping: 30,
      sliding_window_pattern: 2,
    },
    traits: { norms: 'around', normOffset: 1 },
    attentionBias: 'key',
    scaledEmbeddings: true,
    windows: { layers: 'interleaved' },
  },
  gemma3_text: {
    className: 'Gemma3',
    defaults: {
      ...gemma,
      num_key_value_heads: 4,
      max_position_embeddings: 131_072,
      rope_theta: 1_000_000,
      rope_local_base_freq: 10_000,
      final_logit_softcapping: null,
      sliding_window_pattern: 6,
    },
    traits: { norms: 'around', normOffset: 1, qkNorm: true },
    attentionBias: 'key',
    scaledEmbeddings: true,
    windows: { layers: 'interleaved', localRope: true },
  },
  qwen3_moe: {
    className: 'Qwen3Moe',
    defaults: {
      ...qwen,
      num_key_value_heads: 4,
      num_experts: 128,
      num_experts_per_tok: 8,
      moe_intermediate_size: 768,
      decoder_sparse_step: 1,
    },
    traits: { qkNorm: true },
    attentionBias: 'key',
    windows: { layers: 'all', switched: true },
    experts: true,
  },
  lfm2: {
    className: 'Lfm2',
    defaults: {
      num_key_value_heads: 8,
      max_position_embeddings: 128_000,
      rope_theta: 1_000_000,
      conv_L_cache: 3,
    },
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
    defaults: {
      num_key_value_heads: 4,
      head_dim: 256,
      max_position_embeddings: 32_768,
      partial_rotary_factor: 0.25,
      full_attention_interval: 4,
      linear_conv_kernel_dim: 4,
      linear_key_head_dim: 128,
      linear_value_head_dim: 128,
      linear_num_key_heads: 16,
      linear_num_value_heads: 32,
    },
    traits: { qkNorm: true, normOffset: 1, gatedAttention: true },
    attentionBias: 'key',
    partialRotary: true,
    recurrent: 'delta',
  },
  granite: {
    ...granite,
    className: 'Granite',
    defaults: { max_position_embeddings: 2_048 },
    mlpBias: true,
  },
  granitemoehybrid: {
    ...granite,
    className: 'GraniteMoeHybrid',
    defaults: { num_local_experts: 8, max_position_embeddings: 2_048 },
    traits: { fusedFeedForward: true },
    hybrid: true,
    names: {
      'mlp.gate_up_proj': 'shared_mlp.input_linear',
      'mlp.down_proj': 'shared_mlp.output_linear',
    },
  },
};
