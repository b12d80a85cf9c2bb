/** The keys of `config.json` that are read, with messages for unsupported values. */
import { CheckpointError } from '@trinity-rft/core';
import { z } from 'zod';

import { modelFamilies, type Activation } from './config.js';

const positiveInteger = 'a whole number above 0';
const size = z.int(positiveInteger).positive(positiveInteger);
const indexText = 'a whole number from 0 on';
const index = z.int(indexText).nonnegative(indexText);
const tokenIdText = 'a token id, which is a whole number from 0 on';
const tokenId = z.int(tokenIdText).nonnegative(tokenIdText);
const aboveZero = 'a number above 0';
const positive = z.number(aboveZero).positive(aboveZero);
const partText = 'a number above 0, at most 1';
const part = z.number(partText).positive(partText).max(1, partText);
const flag = z.boolean('true or false');
const section = 'a section of settings';
const list = (of: string): string => `a list of ${of}`;

const rope = z.looseObject(
  {
    rope_type: z.string('text').nullish(),
    type: z.string('text').nullish(),
    rope_theta: positive.nullish(),
    factor: positive.nullish(),
    low_freq_factor: positive.nullish(),
    high_freq_factor: positive.nullish(),
    beta_fast: positive.nullish(),
    beta_slow: positive.nullish(),
    attention_factor: positive.nullish(),
    mscale: positive.nullish(),
    mscale_all_dim: positive.nullish(),
    truncate: flag.nullish(),
    llama_4_scaling_beta: z.number('a number').nullish(),
    short_factor: z.array(positive, list('numbers')).nullish(),
    original_max_position_embeddings: size.nullish(),
    partial_rotary_factor: part.nullish(),
  },
  section,
);
export type RopeKeys = z.infer<typeof rope>;

/**
 * Schema of `rope_parameters`, which contains either settings or a section with settings for each
 * type of layer.
 */
const ropeParameters = rope.extend({
  full_attention: rope.nullish(),
  sliding_attention: rope.nullish(),
});

/** Activations by name; several names can refer to the same function. */
export const activations: Readonly<Record<string, Activation>> = {
  silu: 'silu',
  swish: 'silu',
  gelu: 'gelu',
  gelu_pytorch_tanh: 'gelu_tanh',
  gelu_new: 'gelu_tanh',
};
const activation = z.literal(Object.keys(activations), 'silu, gelu or gelu_pytorch_tanh');

const layerTypes = ['full_attention', 'sliding_attention', 'conv', 'linear_attention'] as const;
export const attentionOnly =
  'full_attention in all layers: Mamba-2 layers and experts beside them are not supported, but dense models such as granite-4.0-350m are';
const layerType = z.enum(layerTypes, {
  error: ({ input }) => (input === 'mamba' ? attentionOnly : layerTypes.join(', ')),
});

const schema = z.looseObject({
  model_type: z.enum(modelFamilies, modelFamilies.join(', ')),
  vocab_size: size,
  hidden_size: size,
  num_hidden_layers: size,
  num_attention_heads: size,
  num_key_value_heads: size.nullish(),
  head_dim: size.nullish(),
  intermediate_size: size,
  hidden_act: activation.nullish(),
  hidden_activation: activation.nullish(),
  rms_norm_eps: positive.nullish(),
  rope_theta: positive.nullish(),
  rope_local_base_freq: positive.nullish(),
  rope_scaling: rope.nullish(),
  rope_parameters: ropeParameters.nullish(),
  original_max_position_embeddings: size.nullish(),
  attention_bias: flag.nullish(),
  mlp_bias: flag.nullish(),
  tie_word_embeddings: flag.nullish(),
  max_position_embeddings: size.nullish(),
  bos_token_id: tokenId.nullish(),
  eos_token_id: z.union([tokenId, z.array(tokenId)], 'a token id or a list of them').nullish(),
  pad_token_id: z.int('a whole number').nullish(),
  query_pre_attn_scalar: positive.nullish(),
  attn_logit_softcapping: positive.nullish(),
  final_logit_softcapping: positive.nullish(),
  use_sliding_window: flag.nullish(),
  sliding_window: size.nullish(),
  sliding_window_pattern: size.nullish(),
  max_window_layers: index.nullish(),
  global_head_dim: size.nullish(),
  per_layer_config: z
    .record(z.string(), z.looseObject({ head_dim: size.nullish() }, section), section)
    .nullish(),
  attention_k_eq_v: z.literal(false, 'false (values with a projection of their own)').nullish(),
  num_kv_shared_layers: index.nullish(),
  use_double_wide_mlp: flag.nullish(),
  hidden_size_per_layer_input: index.nullish(),
  vocab_size_per_layer_input: size.nullish(),
  layer_types: z.array(layerType, list('layer types')).nullish(),
  conv_L_cache: size.nullish(),
  conv_bias: z.literal(false, 'false (convolutions without a bias)').nullish(),
  full_attention_interval: size.nullish(),
  linear_conv_kernel_dim: size.nullish(),
  linear_key_head_dim: size.nullish(),
  linear_value_head_dim: size.nullish(),
  linear_num_key_heads: size.nullish(),
  linear_num_value_heads: size.nullish(),
  no_rope_layers: z.array(index, list('0 and 1')).nullish(),
  no_rope_layer_interval: size.nullish(),
  embedding_multiplier: positive.nullish(),
  attention_multiplier: positive.nullish(),
  residual_multiplier: positive.nullish(),
  logits_scaling: positive.nullish(),
  position_embedding_type: z.string('text').nullish(),
  num_experts: size.nullish(),
  num_local_experts: index.nullish(),
  enable_moe_block: z.literal(false, 'false (a model without experts)').nullish(),
  num_experts_per_tok: index.nullish(),
  moe_intermediate_size: size.nullish(),
  norm_topk_prob: flag.nullish(),
  decoder_sparse_step: size.nullish(),
  mlp_only_layers: z.array(index, list('layers')).nullish(),
  quantization_config: z
    .null(
      'none, because quantised weights are not supported: use a release in BF16, or save the model in f32, bf16 or f16',
    )
    .optional(),
  partial_rotary_factor: part.nullish(),
  use_bidirectional_attention: z
    .literal(false, 'false, because a position can only see those before it')
    .nullish(),
});

/** Keys of a validated config.json. */
export type ConfigKeys = z.infer<typeof schema>;

/**
 * Checks the values of a parsed config.json.
 * @throws CheckpointError that names the first invalid key
 */
export function readConfigKeys(json: unknown, file: string): ConfigKeys {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0] ?? { path: [], message: 'a model config' };
  const value = path.reduce<unknown>(
    (at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key],
    json,
  );
  throw invalid(file, path.join('.') || '(the whole file)', value, message);
}

export function invalid(
  file: string,
  key: string,
  value: unknown,
  expected: string,
): CheckpointError {
  const found = value === undefined ? 'is missing' : `is ${JSON.stringify(value)}`;
  return new CheckpointError(
    `${file}: ${key} ${found}; expected ${expected}. The embedded engine runs no other model.`,
    { code: 'MODEL_CONFIG_INVALID', details: { file, key } },
  );
}
