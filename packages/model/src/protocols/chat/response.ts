/** Chat completions as OpenAI's servers answer them, whole or as the chunks of a stream. */
import { tokenByteTable, type Tokenizer } from '@trinity-rft/chat';
import type { ChatResponse, SampledSequence, TokenLogprob } from '@trinity-rft/core';
import type { OpenAI } from 'openai';
import type { Generation } from '../../rollout/generate.js';
import type { ChatCompletionRequest } from './request.js';

type Completion = OpenAI.Chat.ChatCompletion;
type Chunk = OpenAI.Chat.ChatCompletionChunk;
type Logprobs = OpenAI.Chat.ChatCompletion.Choice.Logprobs;

export interface ResponseContext {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly model: string;
  readonly tokenizer: Tokenizer;
  /**
   * What of the request decides about the form of its answer; answers are kept for a while,
   * requests are not.
   */
  readonly request: AnswerWishes;
}

type AnswerWishes = Pick<
  ChatCompletionRequest,
  'logprobs' | 'topLogprobs' | 'includeUsage' | 'returnTokenIds'
>;

/** Under both names: some frameworks read only one of them. */
const reasoningFields = ({ reasoningText }: ChatResponse): object =>
  reasoningText === undefined ? {} : { reasoning: reasoningText, reasoning_content: reasoningText };

/** Pure tool calls have no text, and clients expect null for that. */
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
      ...(response.toolCalls.length > 0 && { tool_calls: [...response.toolCalls] }),
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
 * Role, reasoning and text in one chunk, then one chunk per tool call, then the finish reason; for
 * each choice. Frameworks lose calls that share a chunk or come in pieces.
 */
export function toChunks(generation: Generation, context: ResponseContext): readonly Chunk[] {
  const { id, created, model, request, tokenizer } = context;
  const base = { id, object: 'chat.completion.chunk' as const, created, model };
  const chunk = (
    index: number,
    delta: OpenAI.Chat.ChatCompletionChunk.Choice.Delta,
    finish: OpenAI.Chat.ChatCompletionChunk.Choice['finish_reason'],
    more: object = {},
  ): Chunk => ({
    ...base,
    choices: [{ index, delta, finish_reason: finish, ...more }],
    ...(request.includeUsage && { usage: null }),
  });
  const chunks = generation.choices.flatMap(({ response, sequence }, index) => [
    chunk(
      index,
      { role: 'assistant', content: content(response), ...reasoningFields(response) },
      null,
      {
        ...(request.logprobs && {
          logprobs: toLogprobs(sequence, response, tokenizer, request.topLogprobs),
        }),
        ...(request.returnTokenIds && { token_ids: [...sequence.tokens] }),
      },
    ),
    ...response.toolCalls.map((call, k) =>
      chunk(index, { tool_calls: [{ index: k, ...call }] }, null),
    ),
    chunk(index, {}, response.finishReason),
  ]);
  if (request.returnTokenIds)
    chunks[0] = { ...chunks[0]!, prompt_token_ids: [...generation.promptIds] } as Chunk;
  return request.includeUsage
    ? [...chunks, { ...base, choices: [], usage: usage(generation) }]
    : chunks;
}

export function usage({ promptIds, choices }: Generation): OpenAI.CompletionUsage {
  const prompt = promptIds.length;
  const completion = choices.reduce((sum, { sequence }) => sum + sequence.tokens.length, 0);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
}

export function toLogprobs(
  sequence: SampledSequence,
  response: ChatResponse,
  tokenizer: Tokenizer,
  top: number,
): Logprobs {
  const table = tokenByteTable(tokenizer);
  const entry = ({
    token,
    logprob,
  }: TokenLogprob): { token: string; logprob: number; bytes: number[] } => ({
    token: tokenizer.decode([token]),
    logprob,
    bytes: [...(table[token] ?? [])],
  });
  const tokens = Array.from(sequence.tokens, (token, i) => ({
    ...entry({ token, logprob: response.logprobs[i]! }),
    top_logprobs: (sequence.topLogprobs?.[i] ?? []).slice(0, top).map(entry),
  }));
  return { content: tokens, refusal: null };
}
