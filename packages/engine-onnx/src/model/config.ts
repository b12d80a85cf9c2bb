/**
 * The shape of a model: Hugging Face's `config.json` of the families `qwen3`, `qwen2` and `llama`,
 * checked and in one format.
 */
import { CheckpointError } from '@trinity-rft/core/internal';
import { z } from 'zod';

export const modelFamilies = ['qwen3', 'qwen2', 'llama'] as const;
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
    };

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
  /** RMSNorm over each query and key head (qwen3). */
  readonly qkNorm: boolean;
  readonly qkvBias: boolean;
  /** Bias of the attention's output projection. */
  readonly outputBias: boolean;
  readonly mlpBias: boolean;
  /** The head is the embedding matrix. */
  readonly tieEmbeddings: boolean;
  /** Longest sequence the model was made for. */
  readonly maxPositions: number;
  readonly bosTokenId?: number;
  readonly eosTokenIds: readonly number[];
  readonly padTokenId?: number;
  /** `value`: one number per position instead of a distribution over tokens. @default tokens */
  readonly head?: 'value';
}

const positiveInteger = 'a whole number above 0';
const size = z.int(positiveInteger).positive(positiveInteger);
const tokenIdText = 'a token id, which is a whole number from 0 on';
const tokenId = z.int(tokenIdText).nonnegative(tokenIdText);
const aboveZero = 'a number above 0';
const positive = z.number(aboveZero).positive(aboveZero);
const flag = z.boolean('true or false');
const rope = z.looseObject(
  {
    rope_type: z.string('text').nullish(),
    type: z.string('text').nullish(),
    rope_theta: positive.nullish(),
    factor: positive.nullish(),
    low_freq_factor: positive.nullish(),
    high_freq_factor: positive.nullish(),
    original_max_position_embeddings: size.nullish(),
    partial_rotary_factor: z.number('a number').nullish(),
  },
  'a section of settings',
);
type Rope = z.infer<typeof rope>;

const schema = z.looseObject({
  model_type: z.enum(modelFamilies, modelFamilies.join(', ')),
  vocab_size: size,
  hidden_size: size,
  num_hidden_layers: size,
  num_attention_heads: size,
  num_key_value_heads: size.nullish(),
  head_dim: size.nullish(),
  intermediate_size: size,
  hidden_act: z.literal(['silu', 'swish'], 'silu or swish').nullish(),
  rms_norm_eps: positive.nullish(),
  rope_theta: positive.nullish(),
  rope_scaling: rope.nullish(),
  rope_parameters: rope.nullish(),
  attention_bias: flag.nullish(),
  mlp_bias: flag.nullish(),
  tie_word_embeddings: flag.nullish(),
  max_position_embeddings: size.nullish(),
  bos_token_id: tokenId.nullish(),
  eos_token_id: z.union([tokenId, z.array(tokenId)], 'a token id or a list of them').nullish(),
  pad_token_id: z.int('a whole number').nullish(),
  use_sliding_window: z
    .literal(false, 'false, because sliding windows are not supported')
    .nullish(),
  layer_types: z
    .array(z.literal('full_attention', 'full_attention'), 'a list of layer types')
    .nullish(),
  quantization_config: z
    .null('none, because quantised weights are not supported: save the model in f32, bf16 or f16')
    .optional(),
  partial_rotary_factor: z.literal(1, '1 (whole-head rotary embeddings)').nullish(),
});
type HfConfig = z.infer<typeof schema>;

/** What `transformers` assumes for missing keys, and what a family has by construction. */
const families: Record<
  ModelFamily,
  {
    headDim?: number;
    maxPositions: number;
    qkNorm: boolean;
    biases(hf: HfConfig): { qkv: boolean; output: boolean };
  }
> = {
  qwen3: { headDim: 128, maxPositions: 32_768, qkNorm: true, biases: attentionBias },
  qwen2: { maxPositions: 32_768, qkNorm: false, biases: () => ({ qkv: true, output: false }) },
  llama: { maxPositions: 2_048, qkNorm: false, biases: attentionBias },
};

/** Some checkpoints write -1 for no padding token. */
const padTokenId = ({ pad_token_id: id }: HfConfig): number | undefined =>
  id != null && id >= 0 ? id : undefined;

function attentionBias(hf: HfConfig): { qkv: boolean; output: boolean } {
  const bias = hf.attention_bias ?? false;
  return { qkv: bias, output: bias };
}

/**
 * Reads the parsed `config.json`, in the spelling of transformers 4 (`rope_theta`, `rope_scaling`)
 * or 5 (`rope_parameters`).
 * @param file named in errors
 * @throws CheckpointError that names the key, its value and what is supported
 */
export function parseModelConfig(json: unknown, file: string): ModelConfig {
  const parsed = schema.safeParse(json);
  if (!parsed.success) throw configError(file, json, parsed.error.issues);
  const hf = parsed.data;
  const family = families[hf.model_type];
  const heads = hf.num_attention_heads;
  const kvHeads = hf.num_key_value_heads ?? heads;
  const headDim = hf.head_dim ?? family.headDim ?? hf.hidden_size / heads;
  if (heads % kvHeads !== 0)
    throw invalid(
      file,
      'num_key_value_heads',
      kvHeads,
      `a divisor of num_attention_heads (${heads})`,
    );
  if (!Number.isInteger(headDim) || headDim % 2 !== 0)
    throw invalid(file, 'head_dim', headDim, 'an even whole number');
  const maxPositions = hf.max_position_embeddings ?? family.maxPositions;
  const ropeSettings = hf.rope_parameters ?? hf.rope_scaling ?? {};
  const biases = family.biases(hf);
  return {
    family: hf.model_type,
    vocabSize: hf.vocab_size,
    hiddenSize: hf.hidden_size,
    layers: hf.num_hidden_layers,
    heads,
    kvHeads,
    headDim,
    intermediateSize: hf.intermediate_size,
    normEpsilon: hf.rms_norm_eps ?? 1e-6,
    ropeTheta: hf.rope_parameters?.rope_theta ?? hf.rope_theta ?? 10_000,
    ropeScaling: parseRopeScaling(ropeSettings, maxPositions, file),
    qkNorm: family.qkNorm,
    qkvBias: biases.qkv,
    outputBias: biases.output,
    mlpBias: hf.model_type === 'llama' && (hf.mlp_bias ?? false),
    tieEmbeddings: hf.tie_word_embeddings ?? false,
    maxPositions,
    bosTokenId: hf.bos_token_id ?? undefined,
    eosTokenIds: [hf.eos_token_id ?? []].flat(),
    padTokenId: padTokenId(hf),
  };
}

function parseRopeScaling(
  settings: Rope,
  maxPositions: number,
  file: string,
): RopeScaling | undefined {
  const key = (name: string): string => `rope_scaling/rope_parameters.${name}`;
  const need = (name: 'factor' | 'low_freq_factor' | 'high_freq_factor'): number => {
    const value = settings[name];
    if (value == null) throw invalid(file, key(name), value, 'a positive number');
    return value;
  };
  if (settings.partial_rotary_factor != null && settings.partial_rotary_factor !== 1) {
    throw invalid(
      file,
      key('partial_rotary_factor'),
      settings.partial_rotary_factor,
      '1 (whole-head rotary embeddings)',
    );
  }
  const kind = settings.rope_type ?? settings.type ?? 'default';
  if (kind === 'default') return undefined;
  if (kind === 'linear') return { kind, factor: need('factor') };
  if (kind !== 'llama3') throw invalid(file, key('rope_type'), kind, 'default, linear or llama3');
  return {
    kind,
    factor: need('factor'),
    lowFreqFactor: need('low_freq_factor'),
    highFreqFactor: need('high_freq_factor'),
    originalMaxPositions: settings.original_max_position_embeddings ?? maxPositions,
  };
}

function configError(
  file: string,
  json: unknown,
  [issue]: readonly z.core.$ZodIssue[],
): CheckpointError {
  const { path, message } = issue ?? { path: [], message: 'a model config' };
  const value = path.reduce<unknown>(
    (at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key],
    json,
  );
  return invalid(file, path.join('.') || '(the whole file)', value, message);
}

function invalid(file: string, key: string, value: unknown, expected: string): CheckpointError {
  const found = value === undefined ? 'is missing' : `is ${JSON.stringify(value)}`;
  return new CheckpointError(
    `${file}: ${key} ${found}; expected ${expected}. The embedded engine runs qwen3, qwen2 and ` +
      'llama models.',
    { code: 'MODEL_CONFIG_INVALID', details: { file, key } },
  );
}
