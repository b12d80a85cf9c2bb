/**
 * Converts names of tensors between Hugging Face and GGUF. The tables hold parts of names: without
 * the layer's number, and without `weight` or `bias`.
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

/**
 * Returns the GGUF names of the parts outside the layers, such as the embeddings, by their Hugging
 * Face names.
 */
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
 * Names for models that compute queries, keys and values with one matrix, and the gate and up
 * projections with another.
 */
const fused: Parts = {
  'self_attn.qkv_proj': 'attn_qkv',
  'self_attn.o_proj': 'attn_output',
  'mlp.gate_up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
};

/**
 * Names of the norms, for norms before a block (x + f(norm(x))), after it (x + norm(f(x))), or both
 * (x + norm(f(norm(x)))).
 */
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

/** Names for layers of LFM2, both those with attention and those with a convolution. */
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

/** Names for layers of Qwen3.5, both those with attention and those with the gated delta rule. */
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

/**
 * GGUF names of the parts of a layer by their Hugging Face names, for each architecture. The
 * experts of `qwen3moe` are in {@link expertParts}.
 */
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
 * Names for layers of a Granite model that computes the gate and up projections with one matrix,
 * see {@link graniteDivided}.
 */
export const graniteShared: Parts = {
  ...before,
  ...attention,
  'shared_mlp.output_linear': 'ffn_down',
};
/**
 * Hugging Face matrices whose rows are divided among several GGUF tensors, which have these names
 * in this order.
 */
export const graniteDivided: Readonly<Record<string, readonly string[]>> = {
  'shared_mlp.input_linear': ['ffn_gate', 'ffn_up'],
};

/**
 * GGUF tensors that hold a matrix of each expert of a layer, with Hugging Face's name of the
 * matrix.
 */
export const expertParts: Parts = {
  ffn_gate_exps: 'gate_proj',
  ffn_up_exps: 'up_proj',
  ffn_down_exps: 'down_proj',
};

/** Returns the part of a Hugging Face name for a matrix of one expert. */
export const expertPart = (expert: number, matrix: string): string =>
  `mlp.experts.${expert}.${matrix}`;

/** A name, split into its components. */
export interface ParsedName {
  readonly layer?: number;
  /** Name without layer and kind, such as `self_attn.q_proj`. */
  readonly part: string;
  /** `weight` or `bias`; undefined for a few vectors whose names end with neither. */
  readonly kind?: string;
}

const patternOf = (layers: string): RegExp =>
  new RegExp(`^(?:${layers}\\.(\\d+)\\.)?(.+?)(?:\\.(weight|bias))?$`);
const hfPattern = patternOf('model\\.layers');
const ggufPattern = patternOf('blk');

/** Splits a Hugging Face name into its components. */
export const parseName = (name: string): ParsedName => parsed(hfPattern, name);
/** Splits a GGUF name into its components. */
export const parseGgufName = (name: string): ParsedName => parsed(ggufPattern, name);

function parsed(pattern: RegExp, name: string): ParsedName {
  const [, layer, part = name, kind] = pattern.exec(name) ?? [];
  return {
    ...(layer !== undefined && { layer: Number(layer) }),
    part,
    ...(kind !== undefined && { kind }),
  };
}

/** Parts whose Hugging Face names end with neither `weight` nor `bias`. */
const unkinded: ReadonlySet<string> = new Set([
  'linear_attn.A_log',
  'linear_attn.dt_bias',
  'layer_scalar',
]);
/** Endings of the GGUF names of these parts; an empty string for no ending. */
const ownKinds: Readonly<Record<string, string>> = {
  ssm_a: '',
  ssm_dt: 'bias',
  layer_output_scale: 'weight',
};

/**
 * Returns true if a Hugging Face name ends as expected: with neither `weight` nor `bias` for the
 * parts in `unkinded`, with one of them for all other parts.
 */
export const hasItsKind = ({ part, kind }: ParsedName): boolean =>
  (kind === undefined) === unkinded.has(part);

/** Returns the GGUF name for `part`, with the layer and kind of a parsed name. */
export function ggufName({ layer, kind }: ParsedName, part: string): string {
  const last = ownKinds[part] ?? kind ?? '';
  const name = layer === undefined ? part : `blk.${layer}.${part}`;
  return last === '' ? name : `${name}.${last}`;
}

/** Returns the Hugging Face name for `part`, with the layer and kind of a parsed name. */
export function hfName({ layer, kind }: ParsedName, part: string): string {
  const name = layer === undefined ? part : `model.layers.${layer}.${part}`;
  return kind === undefined || unkinded.has(part) ? name : `${name}.${kind}`;
}
