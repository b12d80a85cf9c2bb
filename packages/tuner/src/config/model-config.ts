/**
 * Defines `TunerModelConfig`: settings of the trained model, an auxiliary model, or a candidate.
 */
import { ConfigError } from '@trinity-rft/core';
import { z } from 'zod';
import { checkFields, count, text } from './fields.js';

/**
 * Settings for the Tinker service, which trains adapters of large models remotely. Models with
 * these settings cannot be trained yet.
 */
export interface TinkerFields {
  /** LoRA rank. @default 16 */
  readonly rank?: number;
  readonly seed?: number;
  /** True to train adapters of the MLP layers. @default true */
  readonly trainMlp?: boolean;
  /** True to train adapters of the attention layers. @default true */
  readonly trainAttn?: boolean;
  /** True to train an adapter of the output layer (unembedding, LM head). @default true */
  readonly trainUnembed?: boolean;
  readonly baseUrl?: string;
}

const tinker = z.strictObject({
  rank: count.default(16),
  seed: z.int().optional(),
  trainMlp: z.boolean().default(true),
  trainAttn: z.boolean().default(true),
  trainUnembed: z.boolean().default(true),
  baseUrl: z.url().optional(),
});

export type TinkerConfig = z.output<typeof tinker>;

/**
 * Validates the fields and adds the defaults. The result can be given to `TunerModelConfig`, but
 * such a model cannot be trained.
 * @throws ConfigError naming each invalid field
 */
export function TinkerConfig(fields: TinkerFields = {}): TinkerConfig {
  return checkFields('TinkerConfig', tinker, fields);
}

const schema = z.strictObject({
  modelPath: text,
  maxModelLen: z.int().min(2),
  maxTokens: count.optional(),
  temperature: z.number().min(0).default(1),
  topP: z.number().gt(0).max(1).default(1),
  enableThinking: z.boolean().optional(),
  tensorParallelSize: count.default(1),
  inferenceEngineNum: count.default(1),
  toolCallParser: text.nullable().default('hermes'),
  reasoningParser: text.nullable().default('qwen3'),
  tinkerConfig: tinker.optional(),
  baseUrl: z.url().optional(),
  apiKey: z.string().optional(),
});

export interface TunerModelFields {
  /** Folder of a Hugging Face model. With `baseUrl`, the name of the model at the service. */
  readonly modelPath: string;
  /** Maximum total number of tokens in prompt and response. */
  readonly maxModelLen: number;
  /** Maximum number of tokens in one response. @default 8192, but at most half of `maxModelLen` */
  readonly maxTokens?: number;
  /** Sampling temperature. @default 1 */
  readonly temperature?: number;
  /** Cumulative probability for nucleus (top-p) sampling. @default 1 */
  readonly topP?: number;
  /**
   * Value passed to the chat template as `enable_thinking`.
   * @default the template's own default
   */
  readonly enableThinking?: boolean;
  /**
   * Number of devices per engine. Values other than 1 cause a warning, because the embedded engine
   * runs in a single process.
   * @default 1
   */
  readonly tensorParallelSize?: number;
  /**
   * Number of engines. As with `tensorParallelSize`, values other than 1 cause a warning.
   * @default 1
   */
  readonly inferenceEngineNum?: number;
  /**
   * Name of the parser for tool calls; `null` leaves tool calls in the message content.
   * @default "hermes"
   */
  readonly toolCallParser?: string | null;
  /**
   * Name of the parser for reasoning; `null` leaves reasoning in the message content.
   * @default "qwen3"
   */
  readonly reasoningParser?: string | null;
  readonly tinkerConfig?: TinkerFields;
  /**
   * URL of an OpenAI-compatible service, ending with `/v1`. Not allowed for the trained model.
   * @default undefined: the model runs on the embedded engine
   */
  readonly baseUrl?: string;
  /** API key of the service at `baseUrl`. Results, logs and files do not contain it. */
  readonly apiKey?: string;
}

export type TunerModelConfig = z.output<typeof schema> & { readonly maxTokens: number };

const longestResponse = 8192;

/**
 * Validates the fields and adds the defaults.
 * @throws ConfigError naming each invalid field
 */
export function TunerModelConfig(fields: TunerModelFields): TunerModelConfig {
  const config = checkFields('TunerModelConfig', schema, fields);
  return {
    ...config,
    maxTokens: config.maxTokens ?? Math.min(longestResponse, Math.floor(config.maxModelLen / 2)),
  };
}

/**
 * Checks that a model can be trained.
 * @throws ConfigError if `tinkerConfig` or `baseUrl` is set
 */
export function assertTrainable(model: TunerModelConfig): void {
  if (model.tinkerConfig !== undefined) {
    throw new ConfigError(
      'TunerModelConfig.tinkerConfig: the Tinker service is not supported yet. ' +
        'Remove it, and set modelPath to a model folder.',
      { code: 'TINKER_NOT_BUILT' },
    );
  }
  if (model.baseUrl !== undefined) {
    throw new ConfigError(
      'TunerModelConfig.baseUrl: a model behind an API cannot be trained. ' +
        'Remove it, and set modelPath to a model folder.',
      { code: 'MODEL_NOT_LOCAL' },
    );
  }
}
