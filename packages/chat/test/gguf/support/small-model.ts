/** A small model of any family for `saveGgufModel`: its config.json, and seeded weights. */
import { createRandom } from '@trinity-rft/core';
import type { WeightSource } from '../../../src/gguf/save/save-model.js';

export const smallConfig = {
  model_type: 'llama',
  vocab_size: 64,
  hidden_size: 32,
  intermediate_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 128,
  rms_norm_eps: 1e-5,
  rope_theta: 10_000,
  tie_word_embeddings: true,
} as const;

/** Sizes of a Gemma 4 model with one kind of layers, and without inputs by token. */
export const gemma4Config = {
  ...smallConfig,
  model_type: 'gemma4_text',
  global_head_dim: 8,
  hidden_size_per_layer_input: 0,
  layer_types: ['full_attention', 'full_attention'],
} as const;

type Sizes = Readonly<
  Record<keyof Omit<typeof smallConfig, 'model_type' | 'tie_word_embeddings'>, number>
>;

/** Shapes of a Llama model with a tied head. */
export function llamaShapes(sizes: Sizes): ReadonlyMap<string, readonly number[]> {
  const { hidden_size: hidden, intermediate_size: inner, num_attention_heads: heads } = sizes;
  const keys = (hidden / heads) * sizes.num_key_value_heads;
  const layer = (index: number): readonly (readonly [string, readonly number[]])[] =>
    Object.entries({
      input_layernorm: [hidden],
      'self_attn.q_proj': [hidden, hidden],
      'self_attn.k_proj': [keys, hidden],
      'self_attn.v_proj': [keys, hidden],
      'self_attn.o_proj': [hidden, hidden],
      post_attention_layernorm: [hidden],
      'mlp.gate_proj': [inner, hidden],
      'mlp.up_proj': [inner, hidden],
      'mlp.down_proj': [hidden, inner],
    }).map(([part, shape]) => [`model.layers.${index}.${part}.weight`, shape]);
  return new Map<string, readonly number[]>([
    ['model.embed_tokens.weight', [sizes.vocab_size, hidden]],
    ...Array.from({ length: sizes.num_hidden_layers }, (_, index) => layer(index)).flat(),
    ['model.norm.weight', [hidden]],
  ]);
}

/** Shapes of a model of {@link gemma4Config}. */
export function gemma4Shapes(sizes: Sizes): ReadonlyMap<string, readonly number[]> {
  const own = Array.from({ length: sizes.num_hidden_layers }, (_, index) =>
    Object.entries({
      'pre_feedforward_layernorm.weight': [sizes.hidden_size],
      'post_feedforward_layernorm.weight': [sizes.hidden_size],
      'self_attn.q_norm.weight': [gemma4Config.global_head_dim],
      'self_attn.k_norm.weight': [gemma4Config.global_head_dim],
      layer_scalar: [1],
    }).map(([part, shape]) => [`model.layers.${index}.${part}`, shape] as const),
  );
  return new Map<string, readonly number[]>([...llamaShapes(sizes), ...own.flat()]);
}

/** Normally distributed numbers, seeded by the tensor's name. */
export function randomWeights(shapes: ReadonlyMap<string, readonly number[]>): WeightSource {
  return {
    tensors: new Map([...shapes].map(([name, shape]) => [name, { shape }])),
    read: async (name) => {
      const random = createRandom(name.length + 1);
      const size = (shapes.get(name) ?? []).reduce((product, n) => product * n, 1);
      return Float32Array.from({ length: size }, () => 0.1 * random.normal());
    },
  };
}
