/**
 * Names of tensors: GGUF names by Hugging Face names, without the layer, and without `weight` or
 * `bias`.
 */

/** GGUF names of parts by their Hugging Face names. */
type Parts = Readonly<Record<string, string>>;

const wholeModel: Parts = {
  'model.embed_tokens': 'token_embd',
  'model.norm': 'output_norm',
  lm_head: 'output',
};
const wholeByArchitecture: Readonly<Record<string, Parts>> = {
  lfm2: {
    'model.embed_tokens': 'token_embd',
    'model.embedding_norm': 'token_embd_norm',
    lm_head: 'output',
  },
};

/** The parts of a model outside its layers. */
export const wholeParts = (architecture: string): Parts =>
  wholeByArchitecture[architecture] ?? wholeModel;

const attention: Parts = {
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.o_proj': 'attn_output',
};
const queryKeyNorms: Parts = {
  'self_attn.q_norm': 'attn_q_norm',
  'self_attn.k_norm': 'attn_k_norm',
};
const feedForward: Parts = {
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
};

/**
 * Parts of models that compute queries, keys and values with one matrix, and the gate and up
 * projections with another.
 */
const fused: Parts = {
  'self_attn.qkv_proj': 'attn_qkv',
  'self_attn.o_proj': 'attn_output',
  'mlp.gate_up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
};

/** Norms by their position: x + f(norm(x)), x + norm(f(x)), or x + norm(f(norm(x))). */
const before: Parts = { input_layernorm: 'attn_norm', post_attention_layernorm: 'ffn_norm' };
const after: Parts = {
  post_attention_layernorm: 'post_attention_norm',
  post_feedforward_layernorm: 'post_ffw_norm',
};
const around: Parts = {
  ...after,
  input_layernorm: 'attn_norm',
  pre_feedforward_layernorm: 'ffn_norm',
};

/** The parts of both kinds of layers: with attention, and with a convolution. */
const lfm2Layer: Parts = {
  operator_norm: 'attn_norm',
  ffn_norm: 'ffn_norm',
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.out_proj': 'attn_output',
  'self_attn.q_layernorm': 'attn_q_norm',
  'self_attn.k_layernorm': 'attn_k_norm',
  'conv.in_proj': 'shortconv.in_proj',
  'conv.conv': 'shortconv.conv',
  'conv.out_proj': 'shortconv.out_proj',
  'feed_forward.w1': 'ffn_gate',
  'feed_forward.w3': 'ffn_up',
  'feed_forward.w2': 'ffn_down',
};

/** The parts of a layer by architecture, without the experts of `qwen3moe`. */
export const layerParts = {
  llama: { ...before, ...attention, ...feedForward },
  mistral3: { ...before, ...attention, ...feedForward },
  smollm3: { ...before, ...attention, ...feedForward },
  qwen2: { ...before, ...attention, ...feedForward },
  qwen3: { ...before, ...attention, ...queryKeyNorms, ...feedForward },
  qwen3moe: { ...before, ...attention, ...queryKeyNorms, 'mlp.gate': 'ffn_gate_inp' },
  phi3: { ...before, ...fused },
  lfm2: lfm2Layer,
  olmo2: { ...after, ...attention, ...queryKeyNorms, ...feedForward },
  gemma2: { ...around, ...attention, ...feedForward },
  gemma3: { ...around, ...attention, ...queryKeyNorms, ...feedForward },
  granite: { ...before, ...attention, ...feedForward },
} as const satisfies Readonly<Record<string, Parts>>;

/**
 * Parts of a Granite model that computes the gate and up projections with one matrix, see
 * {@link graniteDivided}.
 */
export const graniteShared: Parts = {
  ...before,
  ...attention,
  'shared_mlp.output_linear': 'ffn_down',
};
/** Matrices whose rows become several tensors, in this order. */
export const graniteDivided: Readonly<Record<string, readonly string[]>> = {
  'shared_mlp.input_linear': ['ffn_gate', 'ffn_up'],
};

/** A Hugging Face name, split into its components. */
export interface ParsedName {
  readonly layer?: number;
  /** Name without the layer, such as `self_attn.q_proj`. */
  readonly part: string;
  readonly kind: 'weight' | 'bias';
}

export function parseName(name: string): ParsedName | undefined {
  const [, layer, part, kind] = /^(?:model\.layers\.(\d+)\.)?(.+)\.(weight|bias)$/.exec(name) ?? [];
  if (part === undefined) return undefined;
  return {
    ...(layer !== undefined && { layer: Number(layer) }),
    part,
    kind: kind as ParsedName['kind'],
  };
}
