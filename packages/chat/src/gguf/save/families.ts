/**
 * Rules for writing the models of each family: the architecture's name in llama.cpp, and
 * llama.cpp's assumptions about the model.
 */
import { graniteDivided, graniteShared, type layerParts } from '../model/names.js';

export interface SavedFamily {
  /** Value of `general.architecture`. */
  readonly architecture: keyof typeof layerParts;
  /** GGUF names of a layer's parts. @default those of the architecture */
  readonly parts?: Readonly<Record<string, string>>;
  /** Matrices whose rows become several tensors. @default none */
  readonly divided?: Readonly<Record<string, readonly string[]>>;
  /** Values that transformers assumes for keys that config.json lacks. */
  readonly defaults: Readonly<Record<string, unknown>>;
  /** Names in config.json of the activation that llama.cpp computes. @default silu */
  readonly activations?: readonly string[];
  /**
   * True if rows of queries and keys must be reordered, because llama.cpp rotates neighbouring
   * rows. @default false
   */
  readonly reordered?: true;
  /**
   * Offset that is added to the weights of norms before writing, because llama.cpp does not add it.
   * @default 0
   */
  readonly normOffset?: number;
  /** Values of `rope_type` that llama.cpp supports for this architecture. */
  readonly ropeTypes: readonly RopeType[];
  /**
   * True if llama.cpp reads biases of all four attention projections; otherwise it reads at most
   * those of q, k and v.
   */
  readonly outputBias?: true;
  /** True if llama.cpp rotates the first part of a head. */
  readonly partialRotary?: true;
  readonly mlpBias?: true;
  /** Present if llama.cpp supports windows; otherwise a window must cover the whole context. */
  readonly windows?: { readonly period: number };
  /** True if the hidden size must equal the total width of the heads. */
  readonly squareAttention?: true;
  /** True if `output.weight` must exist even if the head is tied. */
  readonly ownHead?: true;
  /** Number of layers of the only model whose attention is scaled by hidden size / heads. */
  readonly layersOf27B?: number;
}

export type RopeType = 'default' | 'linear' | 'llama3' | 'yarn' | 'longrope';

const silu = ['silu', 'swish'] as const;
const tanhGelu = ['gelu_pytorch_tanh', 'gelu_new'] as const;
const scaled = ['default', 'linear', 'yarn'] as const;

/** Defaults that all families share. */
const assumed = { rms_norm_eps: 1e-6, rope_theta: 10_000, max_position_embeddings: 2_048 } as const;
const granite = {
  architecture: 'granite',
  activations: silu,
  reordered: true,
  ropeTypes: [...scaled, 'llama3'],
  outputBias: true,
} as const satisfies Partial<SavedFamily>;
const multipliers = {
  ...assumed,
  embedding_multiplier: 1,
  attention_multiplier: 1,
  residual_multiplier: 1,
  logits_scaling: 1,
} as const;
const qwen = { ...assumed, max_position_embeddings: 32_768, max_window_layers: 28 } as const;
const gemma = {
  ...assumed,
  head_dim: 256,
  hidden_activation: 'gelu_pytorch_tanh',
  query_pre_attn_scalar: 256,
  num_key_value_heads: 4,
  sliding_window: 4096,
  tie_word_embeddings: true,
} as const;

/** Families by `model_type` of config.json. */
export const savedFamilies: Readonly<Record<string, SavedFamily>> = {
  llama: {
    architecture: 'llama',
    defaults: assumed,
    activations: silu,
    reordered: true,
    ropeTypes: [...scaled, 'llama3'],
    outputBias: true,
    mlpBias: true,
  },
  mistral: {
    architecture: 'llama',
    defaults: {
      ...assumed,
      num_key_value_heads: 8,
      max_position_embeddings: 131_072,
      sliding_window: 4096,
    },
    activations: silu,
    reordered: true,
    ropeTypes: [...scaled, 'llama3'],
  },
  ministral3: {
    architecture: 'mistral3',
    defaults: {
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
    activations: silu,
    reordered: true,
    ropeTypes: ['default', 'yarn'],
  },
  smollm3: {
    architecture: 'smollm3',
    defaults: {
      ...assumed,
      num_key_value_heads: 4,
      max_position_embeddings: 32_768,
      rope_theta: 2_000_000,
      tie_word_embeddings: true,
      no_rope_layer_interval: 4,
    },
    activations: silu,
    reordered: true,
    ropeTypes: scaled,
  },
  qwen2: {
    architecture: 'qwen2',
    defaults: qwen,
    activations: silu,
    ropeTypes: scaled,
  },
  qwen3: {
    architecture: 'qwen3',
    defaults: { ...qwen, head_dim: 128 },
    activations: silu,
    ropeTypes: scaled,
  },
  qwen3_moe: {
    architecture: 'qwen3moe',
    defaults: {
      ...qwen,
      num_key_value_heads: 4,
      num_experts: 128,
      num_experts_per_tok: 8,
      moe_intermediate_size: 768,
      decoder_sparse_step: 1,
    },
    activations: silu,
    ropeTypes: scaled,
  },
  lfm2: {
    architecture: 'lfm2',
    defaults: {
      ...assumed,
      num_key_value_heads: 8,
      max_position_embeddings: 128_000,
      rope_theta: 1_000_000,
      conv_L_cache: 3,
    },
    activations: silu,
    ropeTypes: ['default'],
  },
  phi3: {
    architecture: 'phi3',
    defaults: { ...assumed, rms_norm_eps: 1e-5, max_position_embeddings: 4_096 },
    activations: silu,
    ropeTypes: ['default', 'linear', 'longrope'],
    partialRotary: true,
    squareAttention: true,
  },
  olmo2: {
    architecture: 'olmo2',
    defaults: assumed,
    activations: silu,
    ropeTypes: scaled,
    squareAttention: true,
    ownHead: true,
  },
  gemma2: {
    architecture: 'gemma2',
    defaults: {
      ...gemma,
      max_position_embeddings: 8_192,
      attn_logit_softcapping: 50,
      final_logit_softcapping: 30,
      sliding_window_pattern: 2,
    },
    activations: tanhGelu,
    normOffset: 1,
    ropeTypes: ['default', 'linear'],
    windows: { period: 2 },
    layersOf27B: 46,
  },
  gemma3_text: {
    architecture: 'gemma3',
    defaults: {
      ...gemma,
      max_position_embeddings: 131_072,
      rope_theta: 1_000_000,
      rope_local_base_freq: 10_000,
      sliding_window_pattern: 6,
    },
    activations: tanhGelu,
    normOffset: 1,
    ropeTypes: ['default', 'linear'],
    windows: { period: 6 },
    layersOf27B: 62,
  },
  granite: { ...granite, defaults: multipliers, mlpBias: true },
  granitemoehybrid: {
    ...granite,
    defaults: { ...multipliers, num_local_experts: 8 },
    parts: graniteShared,
    divided: graniteDivided,
  },
};
