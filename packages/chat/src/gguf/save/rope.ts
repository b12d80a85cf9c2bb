/**
 * Converts the rotary embeddings of a config.json to GGUF keys, and to tensors of divisors for
 * Llama 3 and longrope.
 */
import { f32, text, u32, type TypedValue } from '../file/typed-value.js';
import {
  llama3Divisors,
  longRopeNames,
  proportionalDivisors,
  ropeFactorsName,
} from '../model/rope.js';
import { notFollowed, positive, type Json, type SavedConfig } from './config.js';
import type { RopeType } from './families.js';

export interface SavedRope {
  /** Keys of the metadata, without the architecture's prefix. */
  readonly keys: readonly (readonly [string, TypedValue])[];
  /**
   * Divisors of the rotary frequencies, one for each pair of dimensions, keyed by the name of the
   * tensor that holds them.
   */
  readonly divisors?: Readonly<Record<string, Float32Array>>;
}

const key = (name: string): string => `rope_scaling/rope_parameters.${name}`;
const object = (value: unknown): Json | undefined =>
  typeof value === 'object' && value !== null ? (value as Json) : undefined;

/**
 * Converts the settings of a model's rotary embeddings.
 * @throws CheckpointError that names a scaling that llama.cpp does not support for the family
 */
export function savedRope(config: SavedConfig): SavedRope {
  const { json, headDim, family } = config;
  const { full, sliding } = byLayerType(json);
  const theta = base(full['rope_theta'] ?? json['rope_theta'], 'rope_theta');
  const type = ropeType(full, config);
  const rotated = rotatedWidth(full, config);
  const common: SavedRope['keys'] = [
    ['rope.dimension_count', u32(rotated)],
    ['rope.freq_base', f32(theta)],
  ];
  if (family.architecture === 'qwen35')
    return { keys: [...common, ['rope.dimension_sections', sections(rotated)]] };
  if (family.architecture === 'gemma3') return gemma3(config, common, full, sliding);
  if (family.architecture === 'gemma4') return gemma4(config, common, full, sliding);
  if (family.architecture === 'olmo2') assertUnscaled(sliding, theta);
  if (type === 'longrope') return longRope(config, common, full, rotated);
  if (type !== 'llama3') return { keys: [...common, ...scaling(type, full, config)] };
  const number = (name: string): number => need(full, name);
  const context = originalContext(full, config);
  const divisors = llama3Divisors({
    factor: number('factor'),
    low: number('low_freq_factor'),
    high: number('high_freq_factor'),
    context,
    theta,
    headDim,
  });
  // llama.cpp reads only the divisors.
  const original = ['rope.scaling.original_context_length', u32(context)] as const;
  return {
    keys: [...common, original],
    divisors: { [ropeFactorsName]: Float32Array.from(divisors) },
  };
}

/**
 * Returns how many frequencies are for the time, height and width of a position in an image; the
 * last number is always 0. For text, all three coordinates are equal, so only the sum matters,
 * which must be the number of all frequencies.
 */
const sections = (rotated: number): TypedValue => ({
  list: 'i32',
  value: [...[0, 1, 2].map((from) => Math.ceil((rotated / 2 - from) / 3)), 0],
});

/** Checks the base of the rotary frequencies, and returns it. */
function base(value: unknown, name: string): number {
  if (typeof value === 'number' && value > 0) return value;
  throw notFollowed(name, value, 'a number above 0');
}

/**
 * Converts `longrope`.
 * @see llama.cpp, `Phi3MiniModel` of its converter
 */
function longRope(
  config: SavedConfig,
  common: SavedRope['keys'],
  rope: Json,
  rotated: number,
): SavedRope {
  const original = originalContext(rope, config);
  const factor = Number(rope['factor'] ?? config.context / original);
  const attention =
    rope['attention_factor'] ??
    (factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(original)));
  const divisors = Object.entries(longRopeNames).map(([name, tensor]) => {
    const listed = rope[name];
    if (Array.isArray(listed) && listed.length === rotated / 2)
      return [tensor, Float32Array.from(listed, Number)];
    throw notFollowed(key(name), listed, `${rotated / 2} divisors of frequencies`);
  });
  return {
    keys: [
      ...common,
      ['rope.scaling.original_context_length', u32(original)],
      ['rope.scaling.attn_factor', f32(Number(attention))],
    ],
    divisors: Object.fromEntries(divisors) as SavedRope['divisors'] & object,
  };
}

/**
 * Checks that rotary frequencies are not scaled in layers with a sliding window, which llama.cpp
 * assumes.
 * @param theta base that llama.cpp uses in layers of both types. @default undefined: these layers
 * may have another base
 */
function assertUnscaled(sliding: Json, theta?: number): void {
  const { rope_type: type = 'default', rope_theta: own = theta } = sliding;
  if (type !== 'default') throw notFollowed(key('sliding_attention.rope_type'), type, 'default');
  if (theta !== undefined && own !== theta)
    throw notFollowed(key('sliding_attention.rope_theta'), own, `${theta}, as in other layers`);
}

/**
 * Converts the rotary embeddings of Gemma 4.
 * @see llama.cpp, `Gemma4Model` of its converter
 */
function gemma4(
  { json, headDim }: SavedConfig,
  common: SavedRope['keys'],
  full: Json,
  sliding: Json,
): SavedRope {
  assertUnscaled(sliding);
  const { factor = 1, partial_rotary_factor: part = 1 } = full;
  if (factor !== 1) throw notFollowed(key('full_attention.factor'), factor, '1');
  return {
    keys: [
      ...common,
      ['rope.dimension_count_swa', u32(positive(json, 'head_dim'))],
      ['rope.freq_base_swa', f32(base(sliding['rope_theta'], key('sliding_attention.rope_theta')))],
    ],
    divisors: {
      [ropeFactorsName]: Float32Array.from(proportionalDivisors(headDim, Number(part))),
    },
  };
}

function gemma3(
  config: SavedConfig,
  common: SavedRope['keys'],
  full: Json,
  sliding: Json,
): SavedRope {
  assertUnscaled(sliding);
  const theta = sliding['rope_theta'] ?? config.json['rope_local_base_freq'];
  return {
    keys: [
      ...common,
      ['rope.freq_base_swa', f32(base(theta, 'rope_local_base_freq'))],
      ...scaling(ropeType(full, config), full, config),
    ],
  };
}

/**
 * Returns the rotary settings of layers with full attention and of layers with a sliding window.
 * Reads the formats of transformers 4 and 5.
 */
function byLayerType(json: Json): { readonly full: Json; readonly sliding: Json } {
  const found = object(json['rope_parameters']);
  if (!found || !('full_attention' in found))
    return { full: found ?? object(json['rope_scaling']) ?? {}, sliding: {} };
  return {
    full: object(found['full_attention']) ?? {},
    sliding: object(found['sliding_attention']) ?? {},
  };
}

/**
 * Returns the rotary dimension, rounded down as in transformers. With the type `proportional`, it
 * is the width of the head, and divisors exclude a part of the dimensions from the rotation.
 */
function rotatedWidth(rope: Json, { family, json, headDim }: SavedConfig): number {
  if (rope['rope_type'] === 'proportional') return headDim;
  const part = rope['partial_rotary_factor'] ?? json['partial_rotary_factor'] ?? 1;
  if (part !== 1 && !family.partialRotary)
    throw notFollowed('partial_rotary_factor', part, '1 (whole heads are rotated)');
  return Math.floor(headDim * Number(part));
}

function ropeType(rope: Json, { family }: SavedConfig): RopeType {
  const named = rope['rope_type'] ?? rope['type'] ?? 'default';
  const known = family.ropeTypes.find((type) => type === named);
  if (known) return known;
  throw notFollowed(key('rope_type'), named, family.ropeTypes.join(', '));
}

function need(rope: Json, name: string): number {
  const value = rope[name];
  if (typeof value === 'number' && value > 0) return value;
  throw notFollowed(key(name), value, 'a number above 0');
}

const originalContext = (rope: Json, { json, context }: SavedConfig): number =>
  Number(
    json['original_max_position_embeddings'] ?? rope['original_max_position_embeddings'] ?? context,
  );

function scaling(type: RopeType, rope: Json, config: SavedConfig): SavedRope['keys'] {
  // llama.cpp reads this key for every phi3 model.
  const original: SavedRope['keys'][number] = [
    'rope.scaling.original_context_length',
    u32(originalContext(rope, config)),
  ];
  if (type === 'default') return config.family.architecture === 'phi3' ? [original] : [];
  const factor = need(rope, 'factor');
  const common: SavedRope['keys'] = [
    ['rope.scaling.type', text(type)],
    ['rope.scaling.factor', f32(factor)],
  ];
  if (type !== 'yarn')
    return config.family.architecture === 'phi3' ? [...common, original] : common;
  if (rope['truncate'] === false) throw notFollowed(key('truncate'), false, 'true');
  return [
    ...common,
    original,
    ['rope.scaling.yarn_beta_fast', f32(Number(rope['beta_fast'] ?? 32))],
    ['rope.scaling.yarn_beta_slow', f32(Number(rope['beta_slow'] ?? 1))],
    ...(config.family.architecture === 'mistral3'
      ? ministral(rope)
      : attentionFactor(rope, factor)),
  ];
}

/**
 * Returns Ministral's keys for the attention factor and for the scaling of queries at positions
 * beyond the original context length.
 */
function ministral(rope: Json): SavedRope['keys'] {
  if (rope['mscale'] !== 1) throw notFollowed(key('mscale'), rope['mscale'], '1');
  return [
    ['rope.scaling.yarn_log_multiplier', f32(need(rope, 'mscale_all_dim'))],
    ['attention.temperature_scale', f32(need(rope, 'llama_4_scaling_beta'))],
  ];
}

/**
 * Returns the key for the rest of the attention factor: llama.cpp always applies the factor 0.1
 * ln(factor) + 1, by which the wanted attention factor must be divided.
 * @see Peng et al., arXiv:2309.00071, equation 22; DeepSeek-V2 for `mscale` and `mscale_all_dim`
 */
function attentionFactor(rope: Json, factor: number): SavedRope['keys'] {
  const scale = (by: number): number => (factor <= 1 ? 1 : 0.1 * by * Math.log(factor) + 1);
  const [mscale, all] = [rope['mscale'], rope['mscale_all_dim']];
  const both = typeof mscale === 'number' && typeof all === 'number';
  const wanted = rope['attention_factor'] ?? (both ? scale(mscale) / scale(all) : scale(1));
  const rest = Number(wanted) / (0.1 * Math.log(factor) + 1);
  return Math.abs(rest - 1) < 1e-9 ? [] : [['rope.scaling.attn_factor', f32(rest)]];
}
