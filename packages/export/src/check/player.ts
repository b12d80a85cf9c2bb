/**
 * Interface of a model that runs the prompts of a check, in the embedded engine or in the runtime
 * of an export.
 */
import type { NormalMessage } from '@trinity-rft/chat';
import type { ToolDefinition } from '@trinity-rft/core';

/** A conversation to render, or an already rendered prompt. */
export interface PlayedPrompt {
  readonly messages: readonly NormalMessage[];
  readonly tools: readonly ToolDefinition[] | undefined;
  /**
   * Rendered prompt that the training run recorded. If it is set, it is used instead of `messages`.
   */
  readonly text?: string;
}

interface Score {
  /** Log-probability of each token except the first, at temperature 1, in nats. [T - 1] */
  readonly logprobs: Float64Array;
  /**
   * Id of the most probable token at each position of `logprobs`; undefined if the runtime does not
   * report it. [T - 1]
   */
  readonly best?: Int32Array;
}

export interface Player {
  /**
   * Renders the prompt as this runtime itself does.
   * @throws Error if the template rejects the prompt
   */
  render(prompt: PlayedPrompt): Promise<string> | string;
  /** Returns the token ids of a rendered prompt, without adding special tokens. */
  encode(text: string): Int32Array;
  /** Returns the text of token ids, without special tokens. */
  decode(ids: Int32Array): string;
  score(ids: Int32Array): Promise<Score>;
  /** Returns the token ids of the greedy response, without the end-of-sequence token. */
  greedy(ids: Int32Array, mostTokens: number): Promise<Int32Array>;
  close(): Promise<void>;
}
