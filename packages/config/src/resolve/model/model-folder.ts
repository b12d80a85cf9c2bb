/** Reads the shape of a model from `config.json` in its folder, or from its GGUF file. */
import { join } from 'node:path';
import { CheckpointError } from '@trinity-rft/core';
import { commonKeys, otherInput, textPart } from '@trinity-rft/core/support';
import { z } from 'zod';
import {
  convolutionModules,
  deltaModules,
  fusedModules,
  graniteModules,
  linearModules,
} from '../../schema/model.js';
import type { Disk } from '../base/disk.js';
import type { ModelConfig } from '../base/resolved.js';

/** Sizes of a decoder. Values that `config.json` does not set have their defaults. */
export interface ModelShape {
  readonly modelType: string;
  readonly vocabSize: number;
  readonly hiddenSize: number;
  /** Width of the feed-forward block, averaged over all layers. */
  readonly intermediateSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  /** Width of one head, averaged over all layers. */
  readonly headDim: number;
  /** Number of layers that reuse the keys and values of another layer. @default 0 */
  readonly keyReaders?: number;
  /** Sizes of per-layer embeddings, which are inputs of each layer. @default no such inputs */
  readonly layerInputs?: { readonly size: number; readonly vocabSize: number };
  /** Number of layers with a convolution instead of attention. */
  readonly convolutions: number;
  /** Layers with the gated delta rule. If present, attention in the other layers has gates. */
  readonly delta?: DeltaSizes;
  /** Number of experts per layer, and the width of an expert. */
  readonly experts?: { readonly count: number; readonly size: number };
  readonly tiedEmbeddings: boolean;
  /**
   * Maximum sequence length that the position embeddings support, in tokens; undefined if
   * `config.json` does not state it.
   */
  readonly maxPositions: number | undefined;
}

/** Sizes of the layers with the gated delta rule. */
interface DeltaSizes {
  readonly layers: number;
  /** Number of value heads. */
  readonly heads: number;
  /** Width of one key. */
  readonly keyWidth: number;
  /** Combined width of all value heads. */
  readonly values: number;
  /** Width of queries, keys and values together. */
  readonly channels: number;
}

/** Returns the number of layers with attention, which have keys and values. */
export const attentionLayers = ({ layers, convolutions, delta }: ModelShape): number =>
  layers - convolutions - (delta?.layers ?? 0);

/** Returns the number of layers that compute keys and values. */
export const keyValueLayers = (shape: ModelShape): number =>
  attentionLayers(shape) - (shape.keyReaders ?? 0);

const size = z.int().min(1);
const schema = z.object({
  model_type: z.string().default('unknown'),
  vocab_size: size,
  hidden_size: size,
  intermediate_size: size,
  num_hidden_layers: size,
  num_attention_heads: size,
  num_key_value_heads: size.nullish(),
  head_dim: size.nullish(),
  num_experts: size.nullish(),
  num_local_experts: z.int().min(0).nullish(),
  moe_intermediate_size: size.nullish(),
  layer_types: z.array(z.string()).nullish(),
  full_attention_interval: size.nullish(),
  global_head_dim: size.nullish(),
  per_layer_config: z.record(z.string(), z.looseObject({ head_dim: size.nullish() })).nullish(),
  num_kv_shared_layers: z.int().min(0).nullish(),
  use_double_wide_mlp: z.boolean().nullish(),
  hidden_size_per_layer_input: z.int().min(0).nullish(),
  vocab_size_per_layer_input: size.nullish(),
  linear_num_key_heads: size.nullish(),
  linear_num_value_heads: size.nullish(),
  linear_key_head_dim: size.nullish(),
  linear_value_head_dim: size.nullish(),
  tie_word_embeddings: z.boolean().default(false),
  max_position_embeddings: size.nullish(),
});

export type ModelFolder =
  | {
      readonly kind: 'shape';
      readonly shape: ModelShape;
      /**
       * Key of `config.json` that shows that the model is multimodal; undefined for a text model.
       * The shape is that of the text part.
       */
      readonly otherInput: string | undefined;
    }
  /** The problem, as the rest of a sentence that begins with the folder. */
  | { readonly kind: 'problem'; readonly message: string };

/**
 * Reads the shape of a model.
 * @param location a model folder, or a GGUF file
 */
export function readModelFolder(disk: Disk, location: string): ModelFolder {
  try {
    const text =
      disk.kind(location) === 'file'
        ? disk.ggufConfig(location)
        : disk.readText(join(location, 'config.json'));
    if (text === undefined)
      return {
        kind: 'problem',
        message: 'has no readable config.json. Give the folder of a saved model, or a GGUF file',
      };
    const json: unknown = JSON.parse(text);
    const part = textPart(json);
    const other = otherInput(json);
    if (part === undefined && other !== undefined)
      return { kind: 'problem', message: notText(other) };
    const parsed = schema.safeParse(commonKeys(part ?? json));
    if (parsed.success) return { kind: 'shape', shape: shapeOf(parsed.data), otherInput: other };
    const keys = parsed.error.issues.map((issue) => issue.path.join('.'));
    return { kind: 'problem', message: `has a config.json without a valid ${keys.join(', ')}` };
  } catch (error) {
    if (error instanceof CheckpointError)
      return { kind: 'problem', message: withoutPlace(error.message, location) };
    return {
      kind: 'problem',
      message: `has a config.json that is not JSON: ${(error as Error).message}`,
    };
  }
}

const notText = (key: string): string =>
  `is of a model that takes more than text (${key} in config.json), which no engine supports. Give a model of text alone`;

/**
 * Removes the path from a message, so that the rest of the message can follow the name of the
 * folder.
 */
const withoutPlace = (message: string, location: string): string =>
  message
    .replace(`${location}: `, 'cannot be used: ')
    .replace(`${location} `, '')
    .replace(/\.$/, '');

function shapeOf(config: z.output<typeof schema>): ModelShape {
  return {
    modelType: config.model_type,
    vocabSize: config.vocab_size,
    hiddenSize: config.hidden_size,
    intermediateSize: config.intermediate_size,
    layers: config.num_hidden_layers,
    heads: config.num_attention_heads,
    keyValueHeads: config.num_key_value_heads ?? config.num_attention_heads,
    headDim: config.head_dim ?? Math.floor(config.hidden_size / config.num_attention_heads),
    convolutions: config.layer_types?.filter((type) => type === 'conv').length ?? 0,
    delta: deltaOf(config),
    ...gemma4Of(config),
    experts: expertsOf(config),
    tiedEmbeddings: config.tie_word_embeddings,
    maxPositions: config.max_position_embeddings ?? undefined,
  };
}

/** Returns the sizes of Gemma 4, whose layers differ in width. */
function gemma4Of(config: z.output<typeof schema>): Partial<ModelShape> {
  if (config.model_type !== 'gemma4_text') return {};
  const { num_hidden_layers: layers, num_kv_shared_layers: shared } = config;
  const readers = shared ?? 0;
  const types = Array.from({ length: layers }, (_, i) =>
    config.layer_types ? config.layer_types[i] === 'full_attention' : (i + 1) % 6 === 0,
  );
  const global = types.filter(Boolean).length / layers;
  const [own] = Object.values(config.per_layer_config ?? {});
  const wide = config.global_head_dim ?? own?.head_dim ?? 512;
  const inputs = config.hidden_size_per_layer_input ?? 256;
  return {
    headDim: global * wide + (1 - global) * (config.head_dim ?? 256),
    intermediateSize:
      config.intermediate_size * (config.use_double_wide_mlp ? 1 + readers / layers : 1),
    keyReaders: readers,
    ...(inputs > 0 && {
      layerInputs: { size: inputs, vocabSize: config.vocab_size_per_layer_input ?? 262_144 },
    }),
  };
}

function deltaOf(config: z.output<typeof schema>): DeltaSizes | undefined {
  if (config.model_type !== 'qwen3_5_text') return undefined;
  const { layer_types: types, num_hidden_layers: all, full_attention_interval: interval } = config;
  const layers = types
    ? types.filter((type) => type === 'linear_attention').length
    : all - Math.floor(all / (interval ?? 4));
  const heads = config.linear_num_value_heads ?? 32;
  const values = heads * (config.linear_value_head_dim ?? 128);
  const keyWidth = config.linear_key_head_dim ?? 128;
  const keys = (config.linear_num_key_heads ?? 16) * keyWidth;
  return { layers, heads, keyWidth, values, channels: 2 * keys + values };
}

type Located = Pick<ModelConfig, 'isLocal' | 'modelPath'>;

/** Returns the shape of the model, or undefined if the model is not on this machine. */
export function shapeIn({ isLocal, modelPath }: Located, disk: Disk): ModelShape | undefined {
  const folder = isLocal ? readModelFolder(disk, modelPath) : undefined;
  return folder?.kind === 'shape' ? folder.shape : undefined;
}

/** Returns the context length of the model, or Infinity if it is unknown. */
export const positionsOf = (model: Located, disk: Disk): number =>
  shapeIn(model, disk)?.maxPositions ?? Infinity;

/** Returns the names of the linear layers that can have adapters. */
export function linearModulesOf(shape: ModelShape | undefined): readonly string[] {
  return modulesByType[shape?.modelType ?? ''] ?? linearModules;
}

const modulesByType: Readonly<Record<string, readonly string[]>> = {
  phi3: [...fusedModules, 'o_proj', 'down_proj'],
  lfm2: ['q_proj', 'k_proj', 'v_proj', ...convolutionModules],
  qwen3_5_text: [...deltaModules, 'out_proj', ...linearModules],
  granitemoehybrid: ['q_proj', 'k_proj', 'v_proj', 'o_proj', ...graniteModules],
};

function expertsOf(config: z.output<typeof schema>): ModelShape['experts'] {
  const count = config.num_local_experts ?? config.num_experts;
  const { moe_intermediate_size: width } = config;
  return !count || width == null ? undefined : { count, size: width };
}
