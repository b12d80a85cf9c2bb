/** `TunerModelConfig`: the trained model, a helper, or a candidate. */
import { ConfigError } from '@trinity-rft/core';
import { z } from 'zod';
import { checkFields, count, text } from './fields.js';

/** The Tinker service, which trains adapters of large models remotely. Known, but not built. */
export interface TinkerFields {
  /** @default 16 */
  readonly rank?: number | undefined;
  readonly seed?: number | undefined;
  /** @default true */
  readonly trainMlp?: boolean | undefined;
  /** @default true */
  readonly trainAttn?: boolean | undefined;
  /** @default true */
  readonly trainUnembed?: boolean | undefined;
  readonly baseUrl?: string | undefined;
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

/** @throws ConfigError naming each wrong field. A model that has one is refused when it is used. */
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
  /** Folder of a Hugging Face model; with `baseUrl` the name of the model there. */
  readonly modelPath: string;
  /** Tokens of prompt and response together. */
  readonly maxModelLen: number;
  /** Tokens of one response. @default 8192, at most half of `maxModelLen` */
  readonly maxTokens?: number | undefined;
  /** @default 1 */
  readonly temperature?: number | undefined;
  /** @default 1 */
  readonly topP?: number | undefined;
  /** Passed to the chat template. @default not passed */
  readonly enableThinking?: boolean | undefined;
  /** The embedded engine has one process: other numbers get a warning. @default 1 */
  readonly tensorParallelSize?: number | undefined;
  /** As `tensorParallelSize`. @default 1 */
  readonly inferenceEngineNum?: number | undefined;
  /** `null`: tool calls stay in the text. @default "hermes" */
  readonly toolCallParser?: string | null | undefined;
  /**
   * `null`: reasoning stays in the text.
   * @default "qwen3", which takes text without tags for the answer
   */
  readonly reasoningParser?: string | null | undefined;
  readonly tinkerConfig?: TinkerFields | undefined;
  /**
   * Auxiliary models and candidates only: an OpenAI-compatible service, ending in `/v1`.
   * @default the model runs here
   */
  readonly baseUrl?: string | undefined;
  /** For that service. A secret. */
  readonly apiKey?: string | undefined;
}

export type TunerModelConfig = z.output<typeof schema> & { readonly maxTokens: number };

const longestResponse = 8192;

/** @throws ConfigError naming each wrong field */
export function TunerModelConfig(fields: TunerModelFields): TunerModelConfig {
  const config = checkFields('TunerModelConfig', schema, fields);
  return {
    ...config,
    maxTokens: config.maxTokens ?? Math.min(longestResponse, Math.floor(config.maxModelLen / 2)),
  };
}

/** @throws ConfigError for what no engine here can do */
export function assertTrainable(model: TunerModelConfig): void {
  if (model.tinkerConfig !== undefined) {
    throw new ConfigError(
      'TunerModelConfig.tinkerConfig: the Tinker service is not supported yet. Remove it: modelPath is then a model folder that trains here.',
      { code: 'TINKER_NOT_BUILT' },
    );
  }
  if (model.baseUrl !== undefined) {
    throw new ConfigError(
      `TunerModelConfig.baseUrl: a model behind an API cannot be trained. Remove baseUrl and give modelPath the folder of a model.`,
      { code: 'MODEL_NOT_LOCAL' },
    );
  }
}
