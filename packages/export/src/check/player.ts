/** A model that plays prompts for the check: the checkpoint's own engine, or the runtime of an export. */
import type { NormalMessage } from '@trinity-rft/chat';
import type { ToolDefinition } from '@trinity-rft/core';

/** A conversation to render, or a prompt that was rendered already. */
export interface PlayedPrompt {
  readonly messages: readonly NormalMessage[];
  readonly tools: readonly ToolDefinition[] | undefined;
  /** Prompt text of the run itself; nothing is rendered then. */
  readonly text?: string;
}

export interface Score {
  /** Natural-log probability of each token after the first, at temperature 1. [T - 1] */
  readonly logprobs: Float64Array;
  /** The most probable token at each of these positions; undefined where the runtime does not report it. [T - 1] */
  readonly best?: Int32Array;
}

export interface Player {
  /** Prompt text as this runtime's own path makes it. @throws Error what the template reports */
  render(prompt: PlayedPrompt): Promise<string> | string;
  /** Token ids of a rendered text, without added special tokens. */
  encode(text: string): Int32Array;
  /** Text of sampled ids, without special tokens. */
  decode(ids: Int32Array): string;
  score(ids: Int32Array): Promise<Score>;
  /** Greedy continuation, the end token excluded. */
  greedy(ids: Int32Array, mostTokens: number): Promise<Int32Array>;
  close(): Promise<void>;
}
