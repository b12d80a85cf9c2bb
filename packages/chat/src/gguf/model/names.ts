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
  gemma4: {
    ...wholeModel,
    'model.embed_tokens_per_layer': 'per_layer_token_embd',
    'model.per_layer_model_projection': 'per_layer_model_proj',
    'model.per_layer_projection_norm': 'per_layer_proj_norm',
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

/** The parts of both kinds of layers: with attention, and with the gated delta rule. */
const qwen35Layer: Parts = {
  input_layernorm: 'attn_norm',
  post_attention_layernorm: 'post_attention_norm',
  ...attention,
  ...queryKeyNorms,
  ...feedForward,
  'linear_attn.in_proj_qkv': 'attn_qkv',
  'linear_attn.in_proj_z': 'attn_gate',
  'linear_attn.in_proj_b': 'ssm_beta',
  'linear_attn.in_proj_a': 'ssm_alpha',
  'linear_attn.conv1d': 'ssm_conv1d',
  'linear_attn.norm': 'ssm_norm',
  'linear_attn.out_proj': 'ssm_out',
  'linear_attn.A_log': 'ssm_a',
  'linear_attn.dt_bias': 'ssm_dt',
};

/** The parts of a layer by architecture, without the experts of `qwen3moe`, see {@link expertParts}. */
export const layerParts = {
  llama: { ...before, ...attention, ...feedForward },
  mistral3: { ...before, ...attention, ...feedForward },
  smollm3: { ...before, ...attention, ...feedForward },
  qwen2: { ...before, ...attention, ...feedForward },
  qwen3: { ...before, ...attention, ...queryKeyNorms, ...feedForward },
  qwen3moe: { ...before, ...attention, ...queryKeyNorms, 'mlp.gate': 'ffn_gate_inp' },
  phi3: { ...before, ...fused },
  lfm2: lfm2Layer,
  qwen35: qwen35Layer,
  olmo2: { ...after, ...attention, ...queryKeyNorms, ...feedForward },
  gemma2: { ...around, ...attention, ...feedForward },
  gemma3: { ...around, ...attention, ...queryKeyNorms, ...feedForward },
  gemma4: {
    ...around,
    ...attention,
    ...queryKeyNorms,
    ...feedForward,
    per_layer_input_gate: 'inp_gate',
    per_layer_projection: 'proj',
    post_per_layer_input_norm: 'post_norm',
    layer_scalar: 'layer_output_scale',
  },
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

/** Parts that hold the matrices of all experts of a layer, with the name of the matrix. */
export const expertParts: Parts = {
  ffn_gate_exps: 'gate_proj',
  ffn_up_exps: 'up_proj',
  ffn_down_exps: 'down_proj',
};

/** Part of Hugging Face's names that holds a matrix of one expert. */
export const expertPart = (expert: number, matrix: string): string =>
  `mlp.experts.${expert}.${matrix}`;

/** A name, split into its components. */
export interface ParsedName {
  readonly layer?: number;
  /** Name without the layer, such as `self_attn.q_proj`. */
  readonly part: string;
  /** Undefined for a few vectors, which Hugging Face names without it. */
  readonly kind?: string;
}

const patternOf = (layers: string): RegExp =>
  new RegExp(`^(?:${layers}\\.(\\d+)\\.)?(.+?)(?:\\.(weight|bias))?$`);
const hfPattern = patternOf('model\\.layers');
const ggufPattern = patternOf('blk');

/** Splits a Hugging Face name. */
export const parseName = (name: string): ParsedName => parsed(hfPattern, name);
/** Splits a GGUF name. */
export const parseGgufName = (name: string): ParsedName => parsed(ggufPattern, name);

function parsed(pattern: RegExp, name: string): ParsedName {
  const [, layer, part = name, kind] = pattern.exec(name) ?? [];
  return {
    ...(layer !== undefined && { layer: Number(layer) }),
    part,
    ...(kind !== undefined && { kind }),
  };
}

/** Parts that Hugging Face names without a kind. */
const unkinded: ReadonlySet<string> = new Set([
  'linear_attn.A_log',
  'linear_attn.dt_bias',
  'layer_scalar',
]);
/** Kinds of these parts in GGUF; the empty text for none. */
const ownKinds: Readonly<Record<string, string>> = {
  ssm_a: '',
  ssm_dt: 'bias',
  layer_output_scale: 'weight',
};

/** True if a name has a kind and its part requires one, or neither. For Hugging Face names. */
export const hasItsKind = ({ part, kind }: ParsedName): boolean =>
  (kind === undefined) === unkinded.has(part);

/** GGUF name of a part. */
export function ggufName({ layer, kind }: ParsedName, part: string): string {
  const last = ownKinds[part] ?? kind ?? '';
  const name = layer === undefined ? part : `blk.${layer}.${part}`;
  return last === '' ? name : `${name}.${last}`;
}

/** Hugging Face name of a part. */
export function hfName({ layer, kind }: ParsedName, part: string): string {
  const name = layer === undefined ? part : `model.layers.${layer}.${part}`;
  return kind === undefined || unkinded.has(part) ? name : `${name}.${kind}`;
}
