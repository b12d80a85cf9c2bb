/** Chat completions in the shape of OpenAI's servers, whole or as the chunks of a stream. */
import type { Tokenizer } from '@trinity-rft/chat';
import type { ChatResponse } from '@trinity-rft/core';
import type { OpenAI } from 'openai';
import type { Generation } from '../../rollout/generate.js';
import { toLogprobs, usage } from '../shared/answer/tokens.js';
import type { ChatCompletionRequest } from './request.js';

type Completion = OpenAI.Chat.ChatCompletion;
type Chunk = OpenAI.Chat.ChatCompletionChunk;
type ChunkChoice = OpenAI.Chat.ChatCompletionChunk.Choice;

export interface ResponseContext {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly model: string;
  readonly tokenizer: Tokenizer;
  /** Not the whole request: answers are kept for a while. */
  readonly request: Pick<
    ChatCompletionRequest,
    'logprobs' | 'topLogprobs' | 'includeUsage' | 'returnTokenIds'
  >;
}

/** Under both names: some frameworks read only one of them. */
const reasoningFields = ({ reasoningText }: ChatResponse): object =>
  reasoningText === undefined ? {} : { reasoning: reasoningText, reasoning_content: reasoningText };

/** Null for pure tool calls, as clients expect. */
const content = ({ responseText, toolCalls }: ChatResponse): string | null =>
  responseText === '' && toolCalls.length > 0 ? null : responseText;

export function toCompletion(generation: Generation, context: ResponseContext): Completion {
  const { id, created, model, request, tokenizer } = context;
  const choices = generation.choices.map(({ response, sequence }, index) => ({
    index,
    message: {
      role: 'assistant' as const,
      content: content(response),
      refusal: null,
      ...reasoningFields(response),
      tool_calls: response.toolCalls.length > 0 ? [...response.toolCalls] : undefined,
    },
    finish_reason: response.finishReason,
    logprobs: request.logprobs
      ? toLogprobs(sequence, response, tokenizer, request.topLogprobs)
      : null,
    ...(request.returnTokenIds && { token_ids: [...sequence.tokens] }),
  }));
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices,
    usage: usage(generation),
    ...(request.returnTokenIds && { prompt_token_ids: [...generation.promptIds] }),
  };
}

/**
 * For each choice: role, reasoning and text in one chunk, one chunk per tool call, then the finish
 * reason. Some frameworks lose calls that share a chunk or arrive in pieces.
 */
export function toChunks(generation: Generation, context: ResponseContext): readonly Chunk[] {
  const { id, created, model, request, tokenizer } = context;
  const base = { id, object: 'chat.completion.chunk' as const, created, model };
  const noUsage = request.includeUsage ? { usage: null } : undefined;
  const chunk = (choice: ChunkChoice, more?: object): Chunk => ({
    ...base,
    choices: [choice],
    ...noUsage,
    ...more,
  });
  const chunks = generation.choices.flatMap(({ response, sequence }, index) => {
    const opening = {
      index,
      delta: {
        role: 'assistant' as const,
        content: content(response),
        ...reasoningFields(response),
      },
      finish_reason: null,
      ...(request.logprobs && {
        logprobs: toLogprobs(sequence, response, tokenizer, request.topLogprobs),
      }),
      ...(request.returnTokenIds && { token_ids: [...sequence.tokens] }),
    };
    const promptIds =
      request.returnTokenIds && index === 0
        ? { prompt_token_ids: [...generation.promptIds] }
        : undefined;
    const calls = response.toolCalls.map((call, k) =>
      chunk({ index, delta: { tool_calls: [{ index: k, ...call }] }, finish_reason: null }),
    );
    return [
      chunk(opening, promptIds),
      ...calls,
      chunk({ index, delta: {}, finish_reason: response.finishReason }),
    ];
  });
  return request.includeUsage
    ? [...chunks, { ...base, choices: [], usage: usage(generation) }]
    : chunks;
}
