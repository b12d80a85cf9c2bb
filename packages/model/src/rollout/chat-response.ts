/** Converts a sampled sequence to the response that is recorded and returned to the caller. */
import type { ChatFormat, NormalMessage, ParsedToolCall, ParsedTurn } from '@trinity-rft/chat';
import { callOfId } from '@trinity-rft/chat/internal';
import { type ChatResponse, type ToolCall, EngineError } from '@trinity-rft/core';
import type { SampledSequence } from '@trinity-rft/core/engine';
import type { FinishReason } from '@trinity-rft/core/internal';

export interface SampledTurn {
  readonly promptIds: Int32Array;
  readonly sequence: SampledSequence;
  readonly turn: ParsedTurn;
  readonly temperature: number;
  readonly format: Pick<ChatFormat, 'stopTokenIds' | 'toolCallId'>;
  readonly callIndex: number;
  readonly choice: number;
  readonly toolCallSalt?: string | undefined;
  /**
   * True if log-probabilities are unknown, because an external model responded. They are then set
   * to 0.
   * @default false
   */
  readonly isExternal?: boolean;
}

/**
 * Converts a sampled turn to a response.
 * @throws EngineError if the sequence violates the sampler's contract
 */
export function toChatResponse({
  promptIds,
  sequence,
  turn,
  temperature,
  format,
  callIndex,
  choice,
  toolCallSalt,
  isExternal = false,
}: SampledTurn): ChatResponse {
  const place = { format, callIndex, choice, toolCallSalt };
  const toolCalls = toToolCalls(turn.toolCalls, place);
  const tokens = new Int32Array(promptIds.length + sequence.tokens.length);
  tokens.set(promptIds);
  tokens.set(sequence.tokens, promptIds.length);
  return {
    responseText: turn.text,
    reasoningText: turn.reasoning,
    toolCalls,
    tokens,
    promptLength: promptIds.length,
    logprobs: isExternal
      ? new Float32Array(sequence.tokens.length)
      : checkedLogprobs(sequence, format.stopTokenIds),
    finishReason: finishReason(sequence, toolCalls),
    policyVersion: sequence.policyVersion,
    temperature,
    ...(sequence.versions && { versions: sequence.versions }),
  };
}

export const toToolCalls = (
  calls: readonly ParsedToolCall[],
  {
    format,
    callIndex,
    choice,
    toolCallSalt: salt,
  }: Pick<SampledTurn, 'format' | 'callIndex' | 'choice' | 'toolCallSalt'>,
): readonly ToolCall[] =>
  calls.map((call, index) => ({
    id: format.toolCallId({ call: callIndex, choice, index, salt }),
    type: 'function',
    function: call,
  }));

/** Returns the indices of the recorded calls that made the tool calls in a conversation. */
export function callsInConversation(messages: readonly NormalMessage[]): readonly number[] {
  const ids = messages.flatMap((message) => message.tool_calls?.map(({ id }) => id) ?? []);
  return ids.flatMap((id) => callOfId(id) ?? []);
}

export function toMessage({ responseText, reasoningText, toolCalls }: ChatResponse): NormalMessage {
  return {
    role: 'assistant',
    content: responseText,
    ...(reasoningText !== undefined && { reasoning_content: reasoningText }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
  };
}

/**
 * Returns the reason why a turn ended. A truncated turn has the reason `length`, even if it
 * contains complete tool calls.
 */
function finishReason(
  { stopReason }: SampledSequence,
  toolCalls: readonly ToolCall[],
): FinishReason {
  if (stopReason === 'length') return 'length';
  return toolCalls.length > 0 ? 'tool_calls' : 'stop';
}

/**
 * Largest positive value that a float32 softmax can return, due to rounding, for the
 * log-probability of a token with probability 1.
 */
const roundingNoise = 1e-4;

/**
 * Checks a sequence, and returns its log-probabilities. Sets small positive values, which are
 * rounding errors, to 0. Does not check that ids are within the vocabulary, because the engine
 * does.
 * @throws EngineError if the sequence violates the sampler's contract
 */
function checkedLogprobs(
  { tokens, logprobs, stopReason, stopString }: SampledSequence,
  stopTokenIds: readonly number[],
): Float32Array {
  if (tokens.length === 0 || logprobs.length !== tokens.length) {
    throw invalidSample(
      `${tokens.length} tokens with ${logprobs.length} log-probabilities`,
      'at least one token, and one log-probability per token',
    );
  }
  let positive = false;
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!;
    const value = logprobs[i]!;
    if (token < 0) throw invalidSample(`the token id ${token}`, 'ids of at least 0');
    if (!Number.isFinite(value) || value > roundingNoise)
      throw invalidSample(`the log-probability ${value}`, 'finite numbers of at most 0');
    positive ||= value > 0;
  }
  const last = tokens.at(-1)!;
  if (stopReason === 'stop' && stopString === undefined && !stopTokenIds.includes(last)) {
    throw invalidSample(
      `a finished answer that ends in token ${last}`,
      `one of the stop tokens ${stopTokenIds.join(', ')} at its end`,
    );
  }
  return positive ? logprobs.map((value) => Math.min(value, 0)) : logprobs;
}

const invalidSample = (what: string, expected: string): EngineError =>
  new EngineError(
    `The sampler returned ${what}. Expected ${expected}. This is a bug in the engine, not in the workflow.`,
    { code: 'SAMPLE_INVALID' },
  );
