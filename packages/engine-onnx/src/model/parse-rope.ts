/** Reads the settings of rotary embeddings in config.json. */
import type { CheckpointError } from '@trinity-rft/core';

import type { LocalRope, ModelConfig, RopeScaling } from './config.js';
import { invalid, type ConfigKeys, type RopeKeys } from './config-keys.js';
import { families } from './families.js';

/** Rotary embeddings of a model. Layers with a window can have separate ones. */
export interface ParsedRope {
  readonly theta: number;
  readonly scaling: RopeScaling | undefined;
  /** Sequence length beyond which rotary angles or queries change; undefined if there is none. */
  readonly end: number | undefined;
  /** Rotary dimension: number of dimensions of a head that are rotated; undefined if all are. */
  readonly rotaryDim: ModelConfig['rotaryDim'];
  readonly local: LocalRope;
}

interface Context {
  readonly file: string;
  readonly headDim: number;
  readonly maxPositions: number;
}

/**
 * Reads the settings in the format of transformers 4 (`rope_theta`, `rope_scaling`,
 * `rope_local_base_freq`) or 5 (`rope_parameters`, which may depend on the type of a layer).
 */
export function parseRope(hf: ConfigKeys, context: Context): ParsedRope {
  const { full, sliding } = byLayerType(hf);
  const scaling = parseScaling(full, hf, context);
  const theta = full.rope_theta ?? hf.rope_theta ?? 10_000;
  return {
    theta,
    scaling,
    end: endOf(full, hf, scaling),
    rotaryDim: parseRotaryDim(full, hf, context),
    local: {
      // Gemma 3 has a default for `rope_local_base_freq`. OLMo 3 has one base for all layers.
      theta: sliding.rope_theta ?? hf.rope_local_base_freq ?? theta,
      scaling: parseScaling(sliding, hf, context),
    },
  };
}

function byLayerType(hf: ConfigKeys): { readonly full: RopeKeys; readonly sliding: RopeKeys } {
  const { full_attention: full, sliding_attention: sliding } = hf.rope_parameters ?? {};
  if (full || sliding) return { full: full ?? {}, sliding: sliding ?? {} };
  return { full: hf.rope_parameters ?? hf.rope_scaling ?? {}, sliding: {} };
}

/**
 * Returns the sequence length beyond which frequencies change or queries grow, or undefined if
 * there is none.
 */
function endOf(
  rope: RopeKeys,
  hf: ConfigKeys,
  scaling: RopeScaling | undefined,
): number | undefined {
  const grows = families[hf.model_type].growingQueries && rope.llama_4_scaling_beta;
  return (scaling?.kind === 'yarn' && grows) || scaling?.kind === 'longrope'
    ? scaling.originalMaxPositions
    : undefined;
}

/**
 * Returns the rotary dimension, rounded down as in transformers, or undefined if the whole head is
 * rotated.
 */
function parseRotaryDim(
  rope: RopeKeys,
  hf: ConfigKeys,
  { file, headDim }: Context,
): number | undefined {
  const part = rope.partial_rotary_factor ?? hf.partial_rotary_factor ?? 1;
  if (part === 1 || rope.rope_type === 'proportional') return undefined;
  const fail = (expected: string): CheckpointError =>
    invalid(file, 'partial_rotary_factor', part, expected);
  if (!families[hf.model_type].partialRotary) throw fail('1 (whole-head rotary embeddings)');
  const width = Math.floor(headDim * part);
  if (width < 2 || width % 2 !== 0)
    throw fail(`a part of head_dim (${headDim}) that is an even whole number`);
  return width;
}

const keyOf = (name: string): string => `rope_scaling/rope_parameters.${name}`;

function parseScaling(rope: RopeKeys, hf: ConfigKeys, context: Context): RopeScaling | undefined {
  const { file } = context;
  const named = rope.rope_type ?? rope.type ?? 'default';
  const kind = families[hf.model_type].ropeTypes?.[named] ?? named;
  const parse = scalings[kind];
  if (parse) return parse(rope, withOriginal(rope, hf, context));
  const known = Object.keys(scalings).join(', ');
  throw invalid(file, keyOf('rope_type'), kind, `one of ${known}`);
}

interface Scaling extends Context {
  /** Rotary dimension: number of dimensions of a head that are rotated. */
  readonly rotaryDim: number;
  readonly originalMaxPositions: number;
  readonly need: (key: 'factor' | 'low_freq_factor' | 'high_freq_factor') => number;
}

/** Functions that read a scaling, keyed by `rope_type`. */
const scalings: Readonly<
  Record<string, (rope: RopeKeys, scaling: Scaling) => RopeScaling | undefined>
> = {
  default: () => undefined,
  // Dynamic scaling changes frequencies only beyond max_position_embeddings. Sequences are never
  // that long, because cached keys would have to be rotated again.
  dynamic: () => undefined,
  linear: (_, { need }) => ({ kind: 'linear', factor: need('factor') }),
  llama3: (_, { need, originalMaxPositions }) => ({
    kind: 'llama3',
    factor: need('factor'),
    lowFreqFactor: need('low_freq_factor'),
    highFreqFactor: need('high_freq_factor'),
    originalMaxPositions,
  }),
  yarn: (rope, { need, originalMaxPositions }) => ({
    kind: 'yarn',
    factor: need('factor'),
    betaFast: rope.beta_fast ?? 32,
    betaSlow: rope.beta_slow ?? 1,
    attentionFactor: rope.attention_factor ?? yarnAttentionFactor(rope, need('factor')),
    originalMaxPositions,
    truncate: rope.truncate ?? true,
  }),
  longrope: (rope, { file, rotaryDim, maxPositions, originalMaxPositions }) => {
    const { short_factor: divisors } = rope;
    if (divisors?.length !== rotaryDim / 2)
      throw invalid(
        file,
        keyOf('short_factor'),
        divisors ?? undefined,
        `${rotaryDim / 2} divisors of frequencies`,
      );
    const factor = rope.factor ?? maxPositions / originalMaxPositions;
    const attentionFactor =
      rope.attention_factor ?? longAttentionFactor(factor, originalMaxPositions);
    return { kind: 'longrope', divisors, attentionFactor, originalMaxPositions };
  },
  proportional: ({ factor, partial_rotary_factor: part }) => ({
    kind: 'proportional',
    factor: factor ?? 1,
    part: part ?? 1,
  }),
};

/**
 * Returns the factor by which `longrope` multiplies cosines and sines. The formula is that of
 * transformers.
 * @see Ding et al., arXiv:2402.13753
 */
const longAttentionFactor = (factor: number, original: number): number =>
  factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(original));

function withOriginal(rope: RopeKeys, hf: ConfigKeys, context: Context): Scaling {
  const { file, headDim, maxPositions } = context;
  return {
    ...context,
    rotaryDim: parseRotaryDim(rope, hf, context) ?? headDim,
    originalMaxPositions:
      hf.original_max_position_embeddings ?? rope.original_max_position_embeddings ?? maxPositions,
    need: (key) => {
      const value = rope[key];
      if (value == null) throw invalid(file, keyOf(key), value, 'a positive number');
      return value;
    },
  };
}

/**
 * Returns the factor by which `yarn` multiplies cosines and sines: equation 22 of the paper, or
 * DeepSeek-V2's ratio if both `mscale` and `mscale_all_dim` are set.
 * @see Peng et al., arXiv:2309.00071
 */
function yarnAttentionFactor({ mscale, mscale_all_dim: all }: RopeKeys, factor: number): number {
  const scale = (by: number): number => (factor <= 1 ? 1 : 0.1 * by * Math.log(factor) + 1);
  return mscale != null && all != null ? scale(mscale) / scale(all) : scale(1);
}
