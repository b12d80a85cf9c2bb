/**
 * Metadata of a model: a description of the file, and the sizes that llama.cpp needs to build its
 * graph.
 */
import { f32, text, u32, type TypedValue } from '../file/typed-value.js';
import {
  attentionPeriod,
  expertCount,
  hasWindow,
  isRecurrent,
  positive,
  type SavedConfig,
} from './config.js';
import type { SavedFamily } from './families.js';
import type { SavedRope } from './rope.js';
import { fileTypeNumber, type GgufFileType } from './types.js';

type Key = readonly [string, TypedValue];

/** Model from which the weights were fine-tuned. */
export interface BaseModel {
  readonly name: string;
  readonly organization?: string;
  /** URL of the model's page. */
  readonly url?: string;
}

/** Description of a model, which programs show for its GGUF file. */
export interface ModelCard {
  readonly name?: string;
  /** SPDX identifier, such as `apache-2.0`. */
  readonly license?: string;
  readonly baseModel?: BaseModel;
}

export function generalKeys(
  card: ModelCard,
  architecture: string,
  type: 'model' | 'adapter',
): readonly Key[] {
  const { name, license, baseModel } = card;
  return [
    ['general.architecture', text(architecture)],
    ['general.type', text(type)],
    ...optional('general.name', name),
    ...optional('general.license', license),
    ...(baseModel
      ? [
          ['general.base_model.count', u32(1)] as const,
          ['general.base_model.0.name', text(baseModel.name)] as const,
          ...optional('general.base_model.0.organization', baseModel.organization),
          ...optional('general.base_model.0.repo_url', baseModel.url),
        ]
      : []),
  ];
}

const optional = (key: string, value: string | undefined): readonly Key[] =>
  value === undefined ? [] : [[key, text(value)]];

/**
 * Returns the keys for the size label and the data type of a file.
 * @param numbers number of parameters of the model
 */
export function formatKeys(type: GgufFileType, numbers: number): readonly Key[] {
  return [
    ['general.size_label', text(sizeLabel(numbers))],
    ['general.file_type', u32(fileTypeNumber(type))],
    ['general.quantization_version', u32(2)],
  ];
}

/** Formats a number of parameters as in `135M` or `1.5B`, with at least two digits. */
function sizeLabel(numbers: number): string {
  const units = [
    [1e12, 'T'],
    [1e9, 'B'],
    [1e6, 'M'],
    [1e3, 'K'],
  ] as const;
  const [size, unit] = units.find(([least]) => numbers > least) ?? [1e3, 'K'];
  const scaled = numbers / size;
  const digits = Math.max(0, 2 - String(Math.round(scaled)).replace(/^0+/, '').length);
  return scaled.toFixed(digits) + unit;
}

export function modelKeys(config: SavedConfig, rope: SavedRope): readonly Key[] {
  const { json, family } = config;
  const keys: readonly Key[] = [
    ['block_count', u32(config.layers)],
    ['context_length', u32(config.context)],
    ['embedding_length', u32(config.hiddenSize)],
    ['feed_forward_length', feedForwardLength(config)],
    ['attention.head_count', u32(config.heads)],
    ['attention.head_count_kv', keyHeads(config)],
    ['attention.key_length', u32(config.headDim)],
    ['attention.value_length', u32(config.headDim)],
    ['attention.layer_norm_rms_epsilon', f32(positive(json, 'rms_norm_eps'))],
    ['vocab_size', u32(config.vocabularySize)],
    ...rope.keys,
    ...(ownKeys[family.architecture]?.(config) ?? []),
  ];
  return keys.map(([name, value]) => [`${family.architecture}.${name}`, value]);
}

/**
 * Returns the number of key-value heads: for LFM2 one number per layer, which is 0 for a
 * convolution.
 */
function keyHeads(config: SavedConfig): TypedValue {
  if (config.family.architecture !== 'lfm2') return u32(config.kvHeads);
  const value = Array.from({ length: config.layers }, (_, layer) =>
    isRecurrent(config, layer) ? 0 : config.kvHeads,
  );
  return { list: 'i32', value };
}

/**
 * Returns the width of the feed-forward blocks: for Gemma 4 one number per layer if they differ.
 */
function feedForwardLength({ json, layers, ownKeyLayers }: SavedConfig): TypedValue {
  const width = positive(json, 'intermediate_size');
  if (json['use_double_wide_mlp'] !== true || ownKeyLayers === layers) return u32(width);
  const value = Array.from({ length: layers }, (_, layer) =>
    layer < ownKeyLayers ? width : 2 * width,
  );
  return { list: 'i32', value };
}

const expertKeys = ({ json }: SavedConfig): readonly Key[] => [
  ['expert_count', u32(expertCount(json))],
  ['expert_used_count', u32(positive(json, 'num_experts_per_tok'))],
  ['expert_feed_forward_length', u32(positive(json, 'moe_intermediate_size'))],
];

const multiplierKeys = ({ json }: SavedConfig): readonly Key[] => [
  ['embedding_scale', f32(positive(json, 'embedding_multiplier'))],
  ['attention.scale', f32(positive(json, 'attention_multiplier'))],
  ['residual_scale', f32(positive(json, 'residual_multiplier'))],
  ['logit_scale', f32(positive(json, 'logits_scaling'))],
];

const convolutionKeys = ({ json }: SavedConfig): readonly Key[] => [
  ['shortconv.l_cache', u32(positive(json, 'conv_L_cache'))],
];

const deltaKeys = ({ json, delta }: SavedConfig): readonly Key[] =>
  delta
    ? [
        ['full_attention_interval', u32(attentionPeriod(json, 'full_attention_interval'))],
        ['ssm.conv_kernel', u32(positive(json, 'linear_conv_kernel_dim'))],
        ['ssm.state_size', u32(delta.keyDim)],
        ['ssm.group_count', u32(delta.keyHeads)],
        ['ssm.time_step_rank', u32(delta.valueHeads)],
        ['ssm.inner_size', u32(delta.valueDim * delta.valueHeads)],
      ]
    : [];

/**
 * Returns the keys for Gemma's sliding window and soft caps. For Gemma 2 without a window, writes a
 * window as long as the context, because llama.cpp always uses a window for Gemma 2.
 */
function gemmaKeys({ json, context, family }: SavedConfig): readonly Key[] {
  const window = json['sliding_window'];
  const cap = (key: string, name: string): readonly Key[] =>
    typeof json[key] === 'number' ? [[name, f32(json[key])]] : [];
  // Without these keys, llama.cpp gives gemma3 neither windows nor the rotary embeddings of
  // windowed layers.
  const isWindowed = window != null || family.architecture === 'gemma2';
  return [
    ...(isWindowed
      ? [
          ['attention.sliding_window', u32(Number(window ?? context))] as const,
          [
            'attention.sliding_window_pattern',
            u32(attentionPeriod(json, 'sliding_window_pattern')),
          ] as const,
        ]
      : []),
    ...cap('attn_logit_softcapping', 'attn_logit_softcapping'),
    ...cap('final_logit_softcapping', 'final_logit_softcapping'),
  ];
}

const windowKeys = (config: SavedConfig): readonly Key[] => [
  ['attention.sliding_window', u32(positive(config.json, 'sliding_window'))],
  [
    'attention.sliding_window_pattern',
    {
      list: 'bool',
      value: Array.from({ length: config.layers }, (_, layer) => hasWindow(config, layer)),
    },
  ],
];

function gemma4Keys(config: SavedConfig): readonly Key[] {
  const { json, layers, ownKeyLayers } = config;
  const width = u32(positive(json, 'head_dim'));
  return [
    ...windowKeys(config),
    ['attention.key_length_swa', width],
    ['attention.value_length_swa', width],
    ['attention.shared_kv_layers', u32(layers - ownKeyLayers)],
    ['embedding_length_per_layer_input', u32(Number(json['hidden_size_per_layer_input'] ?? 0))],
    // Without this key, llama.cpp caps logits at 30; 0 is no cap.
    ['final_logit_softcapping', f32(Number(json['final_logit_softcapping'] ?? 0))],
  ];
}

/** For each architecture, a function that returns the keys that only this architecture has. */
const ownKeys: Readonly<
  Partial<Record<SavedFamily['architecture'], (config: SavedConfig) => readonly Key[]>>
> = {
  qwen3moe: expertKeys,
  gemma2: gemmaKeys,
  gemma3: gemmaKeys,
  gemma4: gemma4Keys,
  olmo2: (config) => (config.json['model_type'] === 'olmo3' ? windowKeys(config) : []),
  lfm2: convolutionKeys,
  qwen35: deltaKeys,
  granite: multiplierKeys,
};
