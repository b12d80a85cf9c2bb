/**
 * Reads the dimensions in a config.json that are written to GGUF, and checks the settings for which
 * GGUF has no key.
 */
import { commonKeys } from '@trinity-rft/core/support';
import { refused } from '../file/failure.js';
import { configDefaults, type FamilyName } from '../model/config-defaults.js';
import type { DeltaSizes, LayoutSizes } from '../model/layout.js';
import { savedFamilies, type SavedFamily } from './families.js';

const configFile = 'config.json';

export type Json = Readonly<Record<string, unknown>>;

/** A config.json with its family's defaults filled in. */
export interface SavedConfig extends LayoutSizes {
  readonly family: SavedFamily;
  readonly json: Json;
  readonly layers: number;
  readonly hiddenSize: number;
  readonly vocabularySize: number;
  /** Maximum sequence length of the model, in tokens. */
  readonly context: number;
  readonly tied: boolean;
  /**
   * Number of layers that compute keys and values. The layers after them reuse those of earlier
   * layers.
   */
  readonly ownKeyLayers: number;
}

/**
 * Reads a config.json and checks that llama.cpp supports all of its settings, so that it computes
 * the same model.
 * @throws CheckpointError that names the first key that llama.cpp does not support or would ignore
 */
export function readSavedConfig(config: Json): SavedConfig {
  const name = config['model_type'];
  const family =
    typeof name === 'string' && Object.hasOwn(savedFamilies, name)
      ? savedFamilies[name as FamilyName]
      : undefined;
  if (!family)
    throw refuse(
      'model_type',
      name,
      `one of ${Object.keys(savedFamilies).join(', ')}`,
      fixes.other,
    );
  const json = withDefaults(commonKeys(config) as Json);
  const number = (key: string): number => positive(json, key);
  const [heads, hiddenSize] = [number('num_attention_heads'), number('hidden_size')];
  const layers = number('num_hidden_layers');
  const isGemma4 = family.architecture === 'gemma4';
  const saved: SavedConfig = {
    family,
    json,
    layers,
    ownKeyLayers: layers - (isGemma4 ? Number(json['num_kv_shared_layers'] ?? 0) : 0),
    heads,
    kvHeads: json['num_key_value_heads'] == null ? heads : number('num_key_value_heads'),
    headDim: isGemma4
      ? globalHeadDim(json)
      : json['head_dim'] == null
        ? hiddenSize / heads
        : number('head_dim'),
    delta: family.architecture === 'qwen35' ? deltaSizes(number) : undefined,
    hiddenSize,
    vocabularySize: number('vocab_size'),
    context: number('max_position_embeddings'),
    tied: json['tie_word_embeddings'] === true,
  };
  refuseTraits(saved);
  return saved;
}

/**
 * Returns the width of Gemma 4's heads in layers with full attention. It is `global_head_dim` in
 * published models; transformers 5 writes it to `per_layer_config`, for each of these layers.
 */
function globalHeadDim({ global_head_dim: own, per_layer_config: layers }: Json): number {
  const [first] = Object.values((layers ?? {}) as Record<string, Json>);
  return positive({ global_head_dim: own ?? first?.['head_dim'] ?? 512 }, 'global_head_dim');
}

const deltaSizes = (number: (key: string) => number): DeltaSizes => ({
  keyHeads: number('linear_num_key_heads'),
  keyDim: number('linear_key_head_dim'),
  valueHeads: number('linear_num_value_heads'),
  valueDim: number('linear_value_head_dim'),
});

/**
 * Fills in the family's defaults for missing keys, but not for null, which means that there is no
 * window or no cap.
 */
const withDefaults = (config: Json): Json => ({
  ...defaultsOf(config),
  ...Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined)),
});

const defaultsOf = ({ model_type: name }: Json): Json => configDefaults[name as FamilyName];

export function positive(json: Json, key: string): number {
  const value = json[key];
  if (typeof value === 'number' && value > 0 && Number.isFinite(value)) return value;
  throw refuse(key, value, 'a number above 0', fixes.config);
}

const fixes = {
  other: 'Use the Hugging Face folder of this model.',
  config: 'Correct config.json, or use a model that has it.',
  same: 'llama.cpp would compute something else: use the Hugging Face folder of this model.',
} as const;

const refuse = (key: string, value: unknown, expected: string, fix: string) =>
  refused({ file: configFile, key, value, expected, fix });

/** Creates the error for a value that GGUF cannot express or that llama.cpp ignores. */
export const notFollowed = (key: string, value: unknown, expected: string) =>
  refuse(key, value, expected, fixes.same);

function refuseTraits(config: SavedConfig): void {
  const { family, json } = config;
  const checks = [activation, biases, windows, attention, rotation, delta, experts, dense, gemma4];
  for (const check of checks) check(config);
  if (family.squareAttention && config.heads * config.headDim !== config.hiddenSize)
    throw notFollowed(
      'head_dim',
      config.headDim,
      `hidden_size / num_attention_heads (${config.hiddenSize / config.heads})`,
    );
  if (json['quantization_config'] != null)
    throw refuse(
      'quantization_config',
      json['quantization_config'],
      'none',
      'Save the model in float32, bfloat16 or float16 first.',
    );
}

function activation({ family, json }: SavedConfig): void {
  const defaults = defaultsOf(json);
  const key = Object.hasOwn(defaults, 'hidden_activation') ? 'hidden_activation' : 'hidden_act';
  const value = json[key] ?? defaults[key] ?? 'silu';
  const known = family.activations;
  if (!known.some((name) => name === value)) throw notFollowed(key, value, known.join(' or '));
}

function biases({ family, json }: SavedConfig): void {
  if (json['attention_bias'] === true && !family.outputBias && json['model_type'] !== 'qwen2')
    throw notFollowed('attention_bias', true, 'false');
  if (json['mlp_bias'] === true && !family.mlpBias) throw notFollowed('mlp_bias', true, 'false');
  if (json['conv_bias'] === true) throw notFollowed('conv_bias', true, 'false');
}

/** Families that use a sliding window only if `use_sliding_window` is true. */
const switched = new Set(['qwen2', 'qwen3', 'qwen3_moe', 'smollm3']);
const unwindowed = new Set(['llama', 'olmo2', 'granite', 'granitemoehybrid']);

function windows({ family, json, context, layers }: SavedConfig): void {
  if (family.windows === 'any') return;
  if (family.windows !== undefined) {
    assertPeriod(json, layers, family.windows);
    return;
  }
  const type = String(json['model_type']);
  const window = json['sliding_window'];
  const off = unwindowed.has(type) || (switched.has(type) && json['use_sliding_window'] !== true);
  if (off || typeof window !== 'number' || window >= context) return;
  throw refuse(
    'sliding_window',
    window,
    `null, or at least max_position_embeddings (${context})`,
    `llama.cpp has no window for this family: set max_position_embeddings to ${window} and keep texts shorter, or use the Hugging Face folder of this model.`,
  );
}

function assertPeriod(json: Json, layers: number, expected: number | 'regular'): void {
  const types = json['layer_types'];
  const period =
    expected === 'regular' ? attentionPeriod(json, 'sliding_window_pattern') : expected;
  const regular = (type: unknown, layer: number): boolean =>
    (type === 'sliding_attention') === ((layer + 1) % period !== 0);
  if (Array.isArray(types) && (types.length !== layers || !types.every(regular)))
    throw notFollowed(
      'layer_types',
      types,
      `full_attention at every ${expected === 'regular' ? 'n' : expected}-th layer and only there`,
    );
}

/**
 * Returns n if every n-th layer has full attention.
 * @param key key of config.json that holds n if `layer_types` is not set
 */
export function attentionPeriod(
  json: Json,
  key: 'sliding_window_pattern' | 'full_attention_interval',
): number {
  const types = json['layer_types'];
  const first = Array.isArray(types) ? types.indexOf('full_attention') : -1;
  if (first >= 0) return first + 1;
  return Array.isArray(types) ? types.length + 1 : positive(json, key);
}

/** Returns true if a layer has a sliding attention window. */
export function hasWindow({ json }: SavedConfig, layer: number): boolean {
  const types = json['layer_types'];
  if (Array.isArray(types)) return types[layer] === 'sliding_attention';
  return (layer + 1) % positive(json, 'sliding_window_pattern') !== 0;
}

/**
 * Checks that a Gemma 4 model has no feature that only its larger models have, because these are
 * not supported.
 */
function gemma4(config: SavedConfig): void {
  const { family, json, kvHeads, headDim, vocabularySize, layers: count, ownKeyLayers } = config;
  if (family.architecture !== 'gemma4') return;
  const layers = Object.values((json['per_layer_config'] ?? {}) as Record<string, Json>);
  const isUniform = layers.every(
    (layer) => Object.keys(layer).join() === 'head_dim' && layer['head_dim'] === headDim,
  );
  if (!isUniform)
    throw notFollowed('per_layer_config', json['per_layer_config'], 'one head_dim in all layers');
  const expected: Readonly<Record<string, readonly unknown[]>> = {
    attention_k_eq_v: [false, undefined, null],
    enable_moe_block: [false, undefined, null],
    num_global_key_value_heads: [kvHeads, undefined, null],
    use_bidirectional_attention: [false, undefined, null],
  };
  for (const [key, values] of Object.entries(expected))
    if (!values.includes(json[key])) throw notFollowed(key, json[key], String(values[0]));
  const rows = json['vocab_size_per_layer_input'];
  if (json['hidden_size_per_layer_input'] && rows !== vocabularySize)
    throw notFollowed('vocab_size_per_layer_input', rows, `vocab_size (${vocabularySize})`);
  for (let layer = ownKeyLayers; layer < count; layer++) {
    // llama.cpp takes the keys of this layer from another one, whatever the kind of that one.
    const [type, place, back] = hasWindow(config, layer)
      ? (['sliding_attention', 'last but one', 2] as const)
      : (['full_attention', 'last', 1] as const);
    if (hasWindow(config, ownKeyLayers - back) !== hasWindow(config, layer))
      throw notFollowed(
        'layer_types',
        json['layer_types'],
        `${type} in the ${place} layer with its own keys, as in layer ${layer}, which uses them`,
      );
  }
}

function attention({ family, json, headDim, heads, hiddenSize, layers }: SavedConfig): void {
  if (family.layersOf27B === undefined) return;
  const expected = layers === family.layersOf27B ? Math.floor(hiddenSize / heads) : headDim;
  const scalar = json['query_pre_attn_scalar'];
  if (scalar !== expected) throw notFollowed('query_pre_attn_scalar', scalar, String(expected));
  const capped = family.architecture === 'gemma2';
  const cap = json['attn_logit_softcapping'];
  if (capped !== (typeof cap === 'number'))
    throw notFollowed('attn_logit_softcapping', cap, capped ? 'a number' : 'null');
  const last = json['final_logit_softcapping'];
  if (capped && typeof last !== 'number')
    throw notFollowed('final_logit_softcapping', last, 'a number');
  if (json['use_bidirectional_attention'] === true)
    throw notFollowed('use_bidirectional_attention', true, 'false');
}

/**
 * Checks that exactly every fourth layer of SmolLM3 has no rotary embeddings, which llama.cpp
 * assumes.
 */
function rotation({ family, json, layers }: SavedConfig): void {
  if (family.architecture !== 'smollm3') return;
  const listed = json['no_rope_layers'];
  const every = Number(json['no_rope_layer_interval']);
  const rotated = Array.from({ length: layers }, (_, layer) => Number((layer + 1) % 4 !== 0));
  const found = Array.isArray(listed)
    ? listed.map(Number)
    : rotated.map((_, layer) => Number((layer + 1) % every !== 0));
  if (found.join() !== rotated.join())
    throw notFollowed(
      Array.isArray(listed) ? 'no_rope_layers' : 'no_rope_layer_interval',
      listed ?? every,
      'every fourth layer without rotary embeddings',
    );
}

function experts({ family, json, layers }: SavedConfig): void {
  if (family.architecture !== 'qwen3moe') return;
  const listed = json['mlp_only_layers'];
  if (Array.isArray(listed) && listed.some((layer) => Number(layer) < layers))
    throw notFollowed('mlp_only_layers', listed, 'an empty list (experts in every layer)');
  if (json['decoder_sparse_step'] !== 1)
    throw notFollowed('decoder_sparse_step', json['decoder_sparse_step'], '1');
  if (json['norm_topk_prob'] !== true)
    throw notFollowed('norm_topk_prob', json['norm_topk_prob'] ?? false, 'true');
}

const recurrentTypes: ReadonlySet<unknown> = new Set(['conv', 'linear_attention']);

/** Returns true if a layer has a convolution or the gated delta rule instead of attention. */
export function isRecurrent({ json, family }: SavedConfig, layer: number): boolean {
  const types = json['layer_types'];
  if (Array.isArray(types)) return recurrentTypes.has(types[layer]);
  if (family.architecture !== 'qwen35') return false;
  return (layer + 1) % attentionPeriod(json, 'full_attention_interval') !== 0;
}

/**
 * Checks that keys and values of the gated delta rule have the same width and that every n-th layer
 * has full attention, which llama.cpp assumes.
 */
function delta(config: SavedConfig): void {
  const { delta: sizes, json, layers } = config;
  if (!sizes) return;
  if (sizes.keyDim !== sizes.valueDim)
    throw notFollowed('linear_value_head_dim', sizes.valueDim, `${sizes.keyDim}, as for keys`);
  const every = attentionPeriod(json, 'full_attention_interval');
  const irregular = Array.from({ length: layers }, (_, layer) => layer).some(
    (layer) => isRecurrent(config, layer) === ((layer + 1) % every === 0),
  );
  if (irregular)
    throw notFollowed('layer_types', json['layer_types'], 'full_attention at every n-th layer');
}

/**
 * Checks that a Granite 4 model (`granitemoehybrid`) has no experts, only layers with attention,
 * and rotary embeddings.
 */
function dense({ json }: SavedConfig): void {
  if (json['model_type'] !== 'granitemoehybrid') return;
  const { num_local_experts: count, layer_types: types, position_embedding_type: kind } = json;
  if (count !== 0) throw notFollowed('num_local_experts', count, '0');
  if (!Array.isArray(types) || !types.every((type) => type === 'full_attention'))
    throw notFollowed('layer_types', types, 'full_attention in every layer');
  if (kind !== 'rope') throw notFollowed('position_embedding_type', kind, 'rope');
}

/** Returns the number of experts, for which transformers 5 writes the key `num_local_experts`. */
export const expertCount = (json: Json): number =>
  positive(json, json['num_local_experts'] == null ? 'num_experts' : 'num_local_experts');
