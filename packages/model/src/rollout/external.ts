/** Gets responses from an external model as text, and tokenizes them. */
import { encodeConversation, type ChatFormat, type ParsedTurn } from '@trinity-rft/chat';
import {
  ModelError,
  TrinityError,
  type ChatMessage,
  type ChatResponse,
  type ToolDefinition,
} from '@trinity-rft/core';
import type { SampledSequence, SamplingOptions } from '@trinity-rft/core/engine';
import type { AgentModel } from '@trinity-rft/workflow';

/** External model that responds in place of the sampler. */
export type ExternalModel = Pick<AgentModel, 'chat'>;

/** One response of the external model: the parsed turn, and its tokens. */
export interface Answer {
  readonly sequence: SampledSequence;
  readonly turn: ParsedTurn;
}

interface Question {
  readonly messages: readonly ChatMessage[];
  /** Tools that the local prompt contains. */
  readonly tools: readonly ToolDefinition[] | undefined;
  /** True if the external model may call the tools. */
  readonly parseTools: boolean;
  readonly enableThinking: boolean | undefined;
  readonly settings: SamplingOptions;
  readonly policyVersion: number;
  readonly signal: AbortSignal | undefined;
}

/** Returns the model without the tool calls that it makes although the request has forbidden them. */
export const withAllowedCalls = (
  external: ExternalModel,
  logOnce: (text: string) => void,
): ExternalModel => ({
  chat: async (messages, options) => {
    const responses = await external.chat(messages, options);
    if (options?.tools && options.toolChoice !== 'none') return responses;
    if (responses.some(({ toolCalls }) => toolCalls.length > 0))
      logOnce(
        'The external model calls tools although tool_choice is none or there are no tools. The agent does not get these calls.',
      );
    return responses.map((response) => ({ ...response, toolCalls: [] }));
  },
});

/**
 * Calls the external model. Log-probabilities are unknown, and therefore NaN.
 * @throws ModelError if there are no messages or the model fails, CancelledError
 */
export async function askExternal(
  external: ExternalModel,
  format: ChatFormat,
  question: Question,
): Promise<readonly Answer[]> {
  const { messages, tools, parseTools, settings, policyVersion, signal } = question;
  if (messages.length === 0)
    throw new ModelError(
      'This model answers conversations only. Send messages, as to chat completions.',
      { status: 400, code: 'not_available' },
    );
  const { n, temperature, topP, topK, maxTokens, minTokens, stop, topLogprobs } = settings;
  const responses = await external.chat(messages, {
    ...{ n, temperature, topP, topK, maxTokens, minTokens, stop, topLogprobs, signal },
    tools: tools?.map(({ type, function: definition }) => ({ type, function: definition })),
    toolChoice: parseTools ? undefined : 'none',
  });
  return responses.map((response) => {
    const tokens = tokensOf(format, question, response);
    const logprobs = new Float32Array(tokens.length).fill(Number.NaN);
    const stopReason = response.finishReason === 'length' ? 'length' : 'stop';
    const sequence = { tokens, logprobs, stopReason, policyVersion } as const;
    return { sequence, turn: turnOf(response) };
  });
}

const turnOf = ({ responseText, reasoningText, toolCalls }: ChatResponse): ParsedTurn => ({
  text: responseText,
  reasoning: reasoningText,
  toolCalls: toolCalls.map((call) => call.function),
  malformedToolCalls: 0,
});

/**
 * Returns the tokens that the chat template produces for the turn, including the stop token. A
 * truncated turn has no stop token.
 */
function tokensOf(format: ChatFormat, question: Question, response: ChatResponse): Int32Array {
  const { stopTokenIds } = format;
  const written = writtenIds(format, question, response);
  const isClosed = stopTokenIds.includes(written.at(-1) ?? -1);
  const text = isClosed ? written.slice(0, -1) : written;
  const isCut = response.finishReason === 'length' && text.length > 0;
  if (isCut) return Int32Array.from(text);
  return Int32Array.from(isClosed ? written : [...written, ...stopTokenIds.slice(0, 1)]);
}

function writtenIds(
  format: ChatFormat,
  { messages, tools, enableThinking }: Question,
  { responseText, reasoningText, toolCalls }: ChatResponse,
): readonly number[] {
  const answer: ChatMessage = {
    role: 'assistant',
    content: responseText,
    reasoning_content: reasoningText,
    tool_calls: toolCalls,
  };
  try {
    const whole = { messages: [...messages, answer], tools, enableThinking };
    const { tokens, promptLength } = encodeConversation(format, whole);
    return tokens.slice(promptLength);
  } catch (error) {
    // Some templates render earlier turns differently when an answer follows.
    if (!TrinityError.is(error) || error.code !== 'CONVERSATION_REWRITTEN') throw error;
    return [...format.encode(responseText)];
  }
}
