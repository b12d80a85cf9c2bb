/** The model as a workflow sees it: chat in, text and exact tokens out, everything recorded. */
import type { VersionSpan } from './engine.js';
import type { Experience } from './experience.js';

interface ContentPart {
  readonly type: string;
  readonly text?: string;
}

export interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  /** `arguments` is the raw string the model produced. */
  readonly function: { readonly name: string; readonly arguments: string };
}

export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  readonly content?: string | readonly ContentPart[] | null;
  readonly name?: string;
  readonly tool_calls?: readonly ToolCall[];
  readonly tool_call_id?: string;
  readonly reasoning_content?: string;
  /** Assistant messages of rows to learn from, as in OpenAI's fine-tuning: 1 trains it, 0 does not. */
  readonly weight?: 0 | 1;
}

/** A function the model may call; `parameters` is a JSON Schema, passed on with its key order. */
export interface ToolDefinition {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters?: Readonly<Record<string, unknown>>;
  };
  /**
   * `parameters` as JSON text, where it has numbers that JavaScript spells differently: chat
   * templates print `1.0`, which is 1 once it is parsed, as it was written.
   */
  readonly parametersSource?: string;
}

export interface ChatOptions {
  readonly n?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly maxTokens?: number;
  readonly minTokens?: number;
  readonly stop?: readonly string[];
  readonly topLogprobs?: number;
  readonly tools?: readonly ToolDefinition[];
  readonly signal?: AbortSignal;
}

export type FinishReason = 'stop' | 'length' | 'tool_calls';

/** One choice. Spread it into `createExperience({ ...response, reward })` to train on it. */
export interface ChatResponse {
  /** Text of the answer, without tool calls and reasoning. */
  readonly responseText: string;
  readonly reasoningText?: string;
  readonly toolCalls: readonly ToolCall[];
  /** Prompt + response ids, exactly as sampled. */
  readonly tokens: Int32Array;
  readonly promptLength: number;
  /** [R] */
  readonly logprobs: Float32Array;
  readonly finishReason: FinishReason;
  /** The oldest one where `versions` differ. */
  readonly policyVersion: number;
  /** Weights that drew which response tokens, where they changed meanwhile. @default one version */
  readonly versions?: readonly VersionSpan[];
  readonly temperature: number;
}

/** The tokens behind a model's token ids. */
export interface Vocabulary {
  /** Largest id + 1. */
  readonly size: number;
  /** Spelling in the tokenizer's files; undefined for an id without a token. */
  token(id: number): string | undefined;
}

export interface ScoreOptions {
  /**
   * Logits are divided by it before the softmax; above 0.
   * @default that of the model's sampling, or 1 where that is greedy
   */
  readonly temperature?: number;
  readonly signal?: AbortSignal;
}

/**
 * View of the model being trained, or of an auxiliary model, for workflows. One per run; not shared
 * between runs.
 */
export interface RolloutModel<Client = unknown> {
  /** The value for `model=` in OpenAI requests. */
  readonly modelPath: string;
  /** Version of the weights the next call would use. */
  readonly policyVersion: number;
  /** `n` choices for one conversation. @throws ModelError, CancelledError */
  chat(messages: readonly ChatMessage[], options?: ChatOptions): Promise<readonly ChatResponse[]>;
  /**
   * Natural-log probability of each token after the first `promptLength`, by the weights in use.
   * Nothing is sampled or recorded. [R]
   * @throws ModelError, also if the model can only score tokens that it sampled; CancelledError
   */
  logprobs(
    tokens: ArrayLike<number>,
    promptLength: number,
    options?: ScoreOptions,
  ): Promise<Float32Array>;
  /** The same object for models that share a tokenizer; undefined if only the service knows it. */
  readonly vocabulary: Vocabulary | undefined;
  /** A client of the `openai` package whose calls are served and recorded here. */
  openaiClient(): Client;
  /**
   * One experience per recorded call and choice, in call order, `eid.step` counting the calls.
   * @default clear = true
   */
  extractExperiencesFromHistory(options?: { readonly clear?: boolean }): readonly Experience[];
}
