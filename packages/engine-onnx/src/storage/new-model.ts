/**
 * Creates a model with seeded random weights, in a folder that Hugging Face transformers can also
 * open.
 */
import { inspect, isDeepStrictEqual } from 'node:util';

import { CheckpointError } from '@trinity-rft/core';

import type { ModelConfig, ModelFamily, RopeScaling } from '../model/config.js';
import { families } from '../model/families.js';
import { initialWeights } from '../model/parameters.js';
import { parseModelConfig } from '../model/parse-config.js';
import { companionFiles, saveModelFolder } from './model-folder.js';

/** Supported families of new models. All layers of a new model are alike. */
export const newModelFamilies = [
  'qwen3',
  'qwen2',
  'llama',
] as const satisfies readonly ModelFamily[];

/** Traits that new models cannot have. */
type OtherTraits =
  | 'head'
  | 'norms'
  | 'normOffset'
  | 'qkNormScope'
  | 'fusedAttention'
  | 'fusedFeedForward'
  | 'rotaryDim'
  | 'activation'
  | 'attentionScale'
  | 'attentionCap'
  | 'logitCap'
  | 'embeddingScale'
  | 'residualScale'
  | 'logitScale'
  | 'localRope'
  | 'experts'
  | 'convTaps'
  | 'delta'
  | 'gatedAttention'
  | 'valueNorm'
  | 'layerScalar'
  | 'perLayerInputs'
  | 'layerTraits';

/** Config of a new model. Missing sizes default to those of a small qwen3. */
export interface NewModelConfig extends Partial<Omit<ModelConfig, OtherTraits>> {
  readonly family?: (typeof newModelFamilies)[number];
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
}

export interface NewModelOptions {
  readonly directory: string;
  readonly config: NewModelConfig;
  /** Seed for the initial weights. Equal seeds give identical files. */
  readonly seed: number;
  /**
   * Standard deviation of the initial values of matrices; written to config.json as
   * `initializer_range`.
   * @default 0.02
   */
  readonly initializerRange?: number;
  /**
   * Contents of tokenizer files to write into the folder, keyed by name, such as `tokenizer.json`
   * and `chat_template.jinja`.
   * @default no files
   */
  readonly tokenizerFiles?: Readonly<Record<string, string | Uint8Array>>;
}

/** Creates a model folder with random weights. */
export async function createModelFolder(options: NewModelOptions): Promise<ModelConfig> {
  const { initializerRange: std = 0.02 } = options;
  const json = { ...toConfigJson(completeConfig(options.config)), initializer_range: std };
  const config = parseModelConfig(json, 'the new model');
  assertKept(options.config, config);
  const companions = new Map(
    Object.entries(options.tokenizerFiles ?? {}).map(([name, content]) => [
      assertCompanion(name),
      Buffer.from(content),
    ]),
  );
  const files = { config, configText: `${JSON.stringify(json, null, 2)}\n`, companions };
  await saveModelFolder(options.directory, files, initialWeights(config, options.seed, { std }));
  return config;
}

/**
 * Checks that the config of a new model has all values that were requested. Its family may not
 * support some of them.
 */
function assertKept(given: NewModelConfig, config: ModelConfig): void {
  const other = (Object.keys(given) as (keyof NewModelConfig)[]).find(
    (key) => given[key] !== undefined && !isDeepStrictEqual(given[key], config[key]),
  );
  if (other === undefined) return;
  throw new CheckpointError(
    `A new ${config.family} model has ${other} ${inspect(config[other])}, not ${inspect(given[other])}; leave ${other} out, or choose another family.`,
    { code: 'MODEL_UNSUPPORTED' },
  );
}

function assertCompanion(name: string): string {
  if (companionFiles.some((known) => known === name)) return name;
  throw new CheckpointError(
    `A new model cannot have the file ${name}; expected one of ${companionFiles.join(', ')}.`,
    { code: 'MODEL_FILE_UNKNOWN' },
  );
}

/** Returns a complete config, with defaults for the missing fields. */
export function completeConfig(partial: NewModelConfig): ModelConfig {
  const family = partial.family ?? 'qwen3';
  return {
    family,
    // Three times the width, rounded up to a multiple of 32. This is about the ratio in models of
    // these families.
    intermediateSize: Math.ceil((3 * partial.hiddenSize) / 32) * 32,
    kvHeads: partial.heads,
    headDim: partial.hiddenSize / partial.heads,
    normEpsilon: 1e-6,
    ropeTheta: 10_000,
    qkNorm: family === 'qwen3',
    qkvBias: family === 'qwen2',
    outputBias: false,
    mlpBias: false,
    tieEmbeddings: true,
    maxPositions: 1024,
    eosTokenIds: [],
    ...partial,
  };
}

/**
 * Returns the `config.json` of a new model, as transformers writes it. `parseModelConfig` converts
 * it back to the same {@link ModelConfig}.
 */
export function toConfigJson(config: ModelConfig): Record<string, unknown> {
  return {
    architectures: [`${families[config.family].className}ForCausalLM`],
    model_type: config.family,
    vocab_size: config.vocabSize,
    hidden_size: config.hiddenSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.kvHeads,
    head_dim: config.headDim,
    intermediate_size: config.intermediateSize,
    hidden_act: 'silu',
    rms_norm_eps: config.normEpsilon,
    rope_theta: config.ropeTheta,
    rope_scaling: config.ropeScaling === undefined ? null : toRopeJson(config.ropeScaling),
    // qwen2 always has these biases, and its config.json has no such key.
    attention_bias: config.family === 'qwen2' ? undefined : config.qkvBias,
    mlp_bias: config.family === 'llama' ? config.mlpBias : undefined,
    attention_dropout: 0,
    tie_word_embeddings: config.tieEmbeddings,
    max_position_embeddings: config.maxPositions,
    bos_token_id: config.bosTokenId ?? null,
    eos_token_id:
      config.eosTokenIds.length > 1 ? config.eosTokenIds : (config.eosTokenIds[0] ?? null),
    pad_token_id: config.padTokenId ?? null,
    torch_dtype: 'float32',
  };
}

function toRopeJson(scaling: RopeScaling): Record<string, unknown> {
  if (scaling.kind === 'longrope')
    return {
      rope_type: scaling.kind,
      short_factor: scaling.divisors,
      long_factor: scaling.divisors,
      attention_factor: scaling.attentionFactor,
      original_max_position_embeddings: scaling.originalMaxPositions,
    };
  const common = { rope_type: scaling.kind, factor: scaling.factor };
  if (scaling.kind === 'linear') return common;
  if (scaling.kind === 'proportional') return { ...common, partial_rotary_factor: scaling.part };
  const original = { original_max_position_embeddings: scaling.originalMaxPositions };
  if (scaling.kind === 'llama3')
    return {
      ...common,
      low_freq_factor: scaling.lowFreqFactor,
      high_freq_factor: scaling.highFreqFactor,
      ...original,
    };
  return {
    ...common,
    beta_fast: scaling.betaFast,
    beta_slow: scaling.betaSlow,
    attention_factor: scaling.attentionFactor,
    truncate: scaling.truncate,
    ...original,
  };
}
