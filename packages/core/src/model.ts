/**
 * Interface through which a workflow uses a model: it sends chat messages, and gets text and the
 * exact token ids. Every chat call is recorded.
 */
import type { VersionSpan } from './engine.js';
import type { Experience } from './experience.js';

interface ContentPart {
  readonly type: string;
  readonly text?: string;
}

export interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  /**
   * Name and arguments of the call. `arguments` is the string that the model produced, unparsed.
   */
  readonly function: { readonly name: string; readonly arguments: string };
}

export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  readonly content?: string | readonly ContentPart[] | null;
  readonly name?: string;
  readonly tool_calls?: readonly ToolCall[];
  readonly tool_call_id?: string;
  readonly reasoning_content?: string;
  /**
   * Weight of an assistant message in a supervised row, as in OpenAI's fine-tuning: 1 = trained on,
   * 0 = not.
   */
  readonly weight?: 0 | 1;
}

/** A function that the model may call. `parameters` is a JSON Schema, whose key order is kept. */
export interface ToolDefinition {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters?: Readonly<Record<string, unknown>>;
  };
  /**
   * The JSON text of `parameters`. Present if JavaScript would print one of its numbers
   * differently: `JSON.parse` turns `1.0` into 1, but chat templates must print it as it was
   * written.
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
  /**
   * `none` shows the tools to the model, which cannot call them.
   * @default the model decides
   */
  readonly toolChoice?: 'none';
  readonly signal?: AbortSignal;
}

export type FinishReason = 'stop' | 'length' | 'tool_calls';

/**
 * One choice of a chat call. To train on the choice, spread it: `createExperience({ ...response,
 * reward })`.
 */
export interface ChatResponse {
  /** Text of the response, without tool calls and reasoning. */
  readonly responseText: string;
  readonly reasoningText?: string;
  readonly toolCalls: readonly ToolCall[];
  /** Token ids of the prompt and the response, exactly as sampled. */
  readonly tokens: Int32Array;
  readonly promptLength: number;
  /** Natural-log probability of each response token. [R] */
  readonly logprobs: Float32Array;
  readonly finishReason: FinishReason;
  /**
   * Version of the weights from which the response was sampled; the oldest one if `versions` lists
   * several.
   */
  readonly policyVersion: number;
  /**
   * Versions of the weights from which the response tokens were sampled. Present if the weights
   * changed during the response.
   * @default undefined: `policyVersion` for all tokens
   */
  readonly versions?: readonly VersionSpan[];
  readonly temperature: number;
}

/** Maps the token ids of a model to token strings. */
export interface Vocabulary {
  /** Largest token id + 1. */
  readonly size: number;
  /**
   * Returns the token as the tokenizer's files spell it, or undefined for an id without a token.
   */
  token(id: number): string | undefined;
}

export interface ScoreOptions {
  /**
   * Temperature that divides the logits before the softmax; above 0.
   * @default the sampling temperature of the model, or 1 if the model samples greedily
   */
  readonly temperature?: number;
  readonly signal?: AbortSignal;
}

/**
 * Access of a workflow to the model being trained, or to an auxiliary model. Each rollout has its
 * own object.
 */
export interface RolloutModel<Client = unknown> {
  /** Value of the `model` field in OpenAI requests. */
  readonly modelPath: string;
  /** Version of the weights that a call made now would use. */
  readonly policyVersion: number;
  /**
   * Samples `n` choices for one conversation. @throws ModelError if the call fails; CancelledError
   * if it is aborted
   */
  chat(messages: readonly ChatMessage[], options?: ChatOptions): Promise<readonly ChatResponse[]>;
  /**
   * Returns the natural-log probability of each token after the first `promptLength`, under the
   * weights in use. Neither samples nor records anything. [R]
   * @throws ModelError, for example if the model can only score tokens that it has sampled;
   * CancelledError if the call is aborted
   */
  logprobs(
    tokens: ArrayLike<number>,
    promptLength: number,
    options?: ScoreOptions,
  ): Promise<Float32Array>;
  /**
   * Token strings of the tokenizer. Models that share a tokenizer share this object. Undefined if
   * the tokenizer is available only to the remote service that runs the model.
   */
  readonly vocabulary: Vocabulary | undefined;
  /** Returns a client of the `openai` package. Its calls go to this model and are recorded. */
  openaiClient(): Client;
  /**
   * Returns one experience per recorded choice, in the order of the calls. `eid.step` is the number
   * of the call. Extracted calls are trained on only if the workflow returns them, or if it fails
   * and the training run has a failure reward.
   * @param options.clear true to empty the history. @default true
   */
  extractExperiencesFromHistory(options?: { readonly clear?: boolean }): readonly Experience[];
}
