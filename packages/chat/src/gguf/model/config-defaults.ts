/** Values that transformers assumes for keys that config.json lacks, by family. */

/** Defaults of all families that do not override them. */
const assumed = { rms_norm_eps: 1e-6, rope_theta: 10_000, max_position_embeddings: 2_048 } as const;
const qwen = {
  ...assumed,
  max_position_embeddings: 32_768,
  sliding_window: 4096,
  max_window_layers: 28,
} as const;
const gemma = {
  ...assumed,
  head_dim: 256,
  hidden_activation: 'gelu_pytorch_tanh',
  query_pre_attn_scalar: 256,
  num_key_value_heads: 4,
  sliding_window: 4096,
  tie_word_embeddings: true,
} as const;
const olmo = { ...assumed, rms_norm_eps: 1e-5 } as const;
const granite = {
  ...assumed,
  embedding_multiplier: 1,
  attention_multiplier: 1,
  residual_multiplier: 1,
  logits_scaling: 1,
} as const;

/** Default values of config.json, by its `model_type`. Null means that the feature is off. */
export const configDefaults = {
  llama: assumed,
  mistral: {
    ...assumed,
    num_key_value_heads: 8,
    max_position_embeddings: 131_072,
    sliding_window: 4096,
  },
  ministral3: {
    ...assumed,
    head_dim: 128,
    num_key_value_heads: 8,
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
  smollm3: {
    ...assumed,
    num_key_value_heads: 4,
    max_position_embeddings: 32_768,
    rope_theta: 2_000_000,
    tie_word_embeddings: true,
    no_rope_layer_interval: 4,
  },
  qwen2: qwen,
  qwen3: { ...qwen, head_dim: 128 },
  qwen3_moe: {
    ...qwen,
    num_key_value_heads: 4,
    num_experts: 128,
    num_experts_per_tok: 8,
    moe_intermediate_size: 768,
    decoder_sparse_step: 1,
  },
  qwen3_5_text: {
    ...assumed,
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
  lfm2: {
    ...assumed,
    num_key_value_heads: 8,
    max_position_embeddings: 128_000,
    rope_theta: 1_000_000,
    conv_L_cache: 3,
  },
  phi3: {
    ...assumed,
    rms_norm_eps: 1e-5,
    max_position_embeddings: 4_096,
    original_max_position_embeddings: 4_096,
  },
  olmo2: olmo,
  olmo3: {
    ...olmo,
    rope_theta: 500_000,
    sliding_window: 4096,
    sliding_window_pattern: 4,
  },
  gemma2: {
    ...gemma,
    max_position_embeddings: 8_192,
    attn_logit_softcapping: 50,
    final_logit_softcapping: 30,
    sliding_window_pattern: 2,
  },
  gemma3_text: {
    ...gemma,
    max_position_embeddings: 131_072,
    rope_theta: 1_000_000,
    rope_local_base_freq: 10_000,
    final_logit_softcapping: null,
    sliding_window_pattern: 6,
  },
  gemma4_text: {
    ...assumed,
    num_key_value_heads: 4,
    head_dim: 256,
    hidden_activation: 'gelu_pytorch_tanh',
    max_position_embeddings: 131_072,
    sliding_window: 512,
    sliding_window_pattern: 6,
    tie_word_embeddings: true,
    final_logit_softcapping: null,
    vocab_size_per_layer_input: 262_144,
    hidden_size_per_layer_input: 256,
    rope_parameters: {
      sliding_attention: { rope_type: 'default', rope_theta: 10_000 },
      full_attention: {
        rope_type: 'proportional',
        partial_rotary_factor: 0.25,
        rope_theta: 1_000_000,
      },
    },
  },
  granite,
  granitemoehybrid: { ...granite, num_local_experts: 8 },
} as const satisfies Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export type FamilyName = keyof typeof configDefaults;
