/** Writes chat completions in OpenAI's format, as a whole or as chunks of a stream. */
import type { Tokenizer } from '@trinity-rft/chat';
import type { OpenAI } from 'openai';
import type { Generation, TurnSoFar } from '../../rollout/generate.js';
import { gained } from '../shared/answer/live-answer.js';
import { toLogprobs, usage } from '../shared/answer/tokens.js';
import type { ChunkWriter } from '../shared/completed-call.js';
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
  /**
   * Fields of the request that are needed to write responses. Other fields are omitted, because
   * responses are kept in memory for a while.
   */
  readonly request: Pick<
    ChatCompletionRequest,
    'logprobs' | 'topLogprobs' | 'includeUsage' | 'returnTokenIds'
  >;
}

/**
 * Returns the reasoning in two fields with different names, because some frameworks read only one
 * of them.
 */
const reasoningFields = ({ reasoningText }: Pick<TurnSoFar, 'reasoningText'>): object =>
  reasoningText === undefined ? {} : { reasoning: reasoningText, reasoning_content: reasoningText };

/**
 * Returns the content of a message, or null if the message has only tool calls, as clients expect.
 */
const content = ({ responseText, toolCalls }: TurnSoFar): string | null =>
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

/** The part of a choice that has already been written to the client. */
interface Sent {
  opened: boolean;
  text: string;
  reasoning: string;
  calls: number;
}

/**
 * Creates a writer of chunks. For each choice, the first chunk contains the role and the reasoning
 * and content so far. Further chunks contain additions to reasoning and content, then the tool
 * calls, and last the finish reason. Log-probabilities and token ids are only known when the
 * generation is finished, so they are sent with the rest of the content. Each tool call has a
 * separate chunk, because some frameworks lose calls that share a chunk or arrive in pieces.
 */
export function chunkWriter(context: ResponseContext): ChunkWriter {
  const { id, created, model, request, tokenizer } = context;
  const base = { id, object: 'chat.completion.chunk' as const, created, model };
  const noUsage = request.includeUsage ? { usage: null } : undefined;
  const chunk = (choice: ChunkChoice, more?: object): Chunk => ({
    ...base,
    choices: [choice],
    ...noUsage,
    ...more,
  });
  const sent: Sent[] = [];
  const write = (index: number, turn: TurnSoFar, more?: object, promptIds?: object): Chunk[] => {
    const before = (sent[index] ??= { opened: false, text: '', reasoning: '', calls: 0 });
    const delta = deltaOf(before, turn) ?? (more && Object.keys(more).length > 0 ? {} : undefined);
    const texts = delta ? [chunk({ index, delta, finish_reason: null, ...more }, promptIds)] : [];
    const calls = turn.toolCalls.slice(before.calls).map((call, k) => {
      const toolCall = { index: before.calls + k, ...call };
      return chunk({ index, delta: { tool_calls: [toolCall] }, finish_reason: null });
    });
    sent[index] = {
      opened: before.opened || delta !== undefined,
      text: turn.responseText,
      reasoning: turn.reasoningText ?? '',
      calls: Math.max(before.calls, turn.toolCalls.length),
    };
    return [...texts, ...calls];
  };
  return {
    update: (turns) =>
      turns.flatMap((turn, index) => (turn && hasContent(turn) ? write(index, turn) : [])),
    end: (generation) => {
      const chunks = generation.choices.flatMap(({ response, sequence }, index) => {
        const more = {
          ...(request.logprobs && {
            logprobs: toLogprobs(sequence, response, tokenizer, request.topLogprobs),
          }),
          ...(request.returnTokenIds && { token_ids: [...sequence.tokens] }),
        };
        const promptIds =
          request.returnTokenIds && index === 0
            ? { prompt_token_ids: [...generation.promptIds] }
            : undefined;
        return [
          ...write(index, response, more, promptIds),
          chunk({ index, delta: {}, finish_reason: response.finishReason }),
        ];
      });
      return request.includeUsage
        ? [...chunks, { ...base, choices: [], usage: usage(generation) }]
        : chunks;
    },
  };
}

const hasContent = ({ responseText, reasoningText = '', toolCalls }: TurnSoFar): boolean =>
  responseText !== '' || reasoningText !== '' || toolCalls.length > 0;

/**
 * Returns the new reasoning and content of a turn as a delta, or undefined if there is nothing new.
 * The first delta names the role.
 */
function deltaOf({ opened, ...before }: Sent, turn: TurnSoFar): ChunkChoice['delta'] | undefined {
  if (!opened) return { role: 'assistant', content: content(turn), ...reasoningFields(turn) };
  const text = gained(before.text, turn.responseText);
  const reasoning = gained(before.reasoning, turn.reasoningText ?? '');
  if (text === '' && reasoning === '') return undefined;
  return {
    ...(text !== '' && { content: text }),
    ...(reasoning !== '' && reasoningFields({ reasoningText: reasoning })),
  };
}
