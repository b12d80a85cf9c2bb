/** Writes responses in the format of OpenAI's Responses API. */
import type { Tokenizer } from '@trinity-rft/chat';
import type { ChatResponse } from '@trinity-rft/core';
import type { SampledSequence } from '@trinity-rft/core/engine';
import type { OpenAI } from 'openai';
import type { Choice, Generation } from '../../rollout/generate.js';
import { toLogprobs } from '../shared/answer/tokens.js';
import { isPresent } from '../shared/request/fields.js';
import type { ResponsesRequest } from './request.js';
import { sealReasoning } from '../shared/sealed-reasoning.js';

/** Response without `output_text`, which client libraries add. */
export type ResponseBody = Omit<OpenAI.Responses.Response, 'output_text' | 'output'> & {
  readonly output: readonly OutputItem[];
  readonly store: boolean;
};
export type OutputItem =
  | OpenAI.Responses.ResponseReasoningItem
  | OpenAI.Responses.ResponseOutputMessage
  | OpenAI.Responses.ResponseFunctionToolCall;

/** Data about a response that are known before its first token. */
export interface ResponseStart {
  /** Id, which begins with `resp`. Ids of items are derived from this id. */
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly model: string;
  readonly request: ResponsesRequest;
}

interface ResponseContext extends ResponseStart {
  readonly completed: number;
  readonly tokenizer: Tokenizer;
}

/**
 * Returns the id of an item of a response. It is the response's id, in which the item's prefix
 * (`rs`, `msg` or `fc`) replaces `resp`.
 */
export const itemIdOf = (responseId: string, prefix: string, suffix = ''): string =>
  `${responseId.replace(/^resp/, prefix)}${suffix}`;

/** Creates a response without output, for the start of a stream. */
export function newResponse({ id, created, model, request }: ResponseStart): ResponseBody {
  return {
    id,
    object: 'response',
    created_at: created,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    model,
    output: [],
    temperature: request.sampling.temperature ?? null,
    top_p: request.sampling.topP ?? null,
    access_programs: null,
    ...echo(request),
  };
}

/**
 * Creates a finished response. Reasoning, text and tool calls are in the order in which the model
 * generated them.
 */
export function toResponse(
  { choices, promptIds }: Generation,
  context: ResponseContext,
): ResponseBody {
  const choice = choices[0]!; // This API has no `n`, so there is one choice.
  const { response } = choice;
  const cut = response.finishReason === 'length';
  return {
    ...newResponse(context),
    status: cut ? 'incomplete' : 'completed',
    completed_at: context.completed,
    incomplete_details: cut ? { reason: 'max_output_tokens' } : null,
    output: toOutput(choice, context),
    usage: usage(promptIds.length, choice, context.tokenizer),
    temperature: response.temperature,
  };
}

/** Request fields that the response repeats, with the defaults for absent fields. */
const echoed = {
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  service_tier: 'default',
  store: true,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  truncation: 'disabled',
} as const;

function echo({ body }: ResponsesRequest): Pick<ResponseBody, keyof typeof echoed> {
  const entries = Object.entries(echoed).map(([name, value]) => [
    name,
    isPresent(body[name]) ? body[name] : value,
  ]);
  return Object.fromEntries(entries) as ReturnType<typeof echo>;
}

function toOutput({ response, sequence }: Choice, context: ResponseContext): readonly OutputItem[] {
  const { id, request } = context;
  const { reasoningText, responseText, toolCalls, finishReason } = response;
  const output: OutputItem[] = [];
  if (reasoningText !== undefined)
    output.push(reasoningItem(itemIdOf(id, 'rs'), reasoningText, request.sealReasoning));
  // An answer with tool calls and without text has no message item.
  if (responseText !== '' || toolCalls.length === 0) {
    const logprobs = textLogprobs(sequence, response, context);
    const status = finishReason === 'length' ? 'incomplete' : 'completed';
    output.push(messageItem(itemIdOf(id, 'msg'), responseText, status, logprobs));
  }
  for (const [k, { id: callId, function: call }] of toolCalls.entries())
    output.push({
      type: 'function_call',
      id: itemIdOf(id, 'fc', `_${k}`),
      call_id: callId,
      name: call.name,
      arguments: call.arguments,
      status: 'completed',
    });
  return output;
}

type Logprob = OpenAI.Responses.ResponseOutputText.Logprob;

/**
 * Returns the log-probabilities of all sampled tokens, including reasoning and tool calls, as in
 * chat completions. Returns an empty list if they were not requested.
 */
function textLogprobs(
  sequence: SampledSequence,
  response: ChatResponse,
  { request, tokenizer }: ResponseContext,
): Logprob[] {
  if (request.topLogprobs === undefined) return [];
  return toLogprobs(sequence, response, tokenizer, request.topLogprobs).content;
}

export const messageItem = (
  id: string,
  text: string,
  status: OpenAI.Responses.ResponseOutputMessage['status'],
  logprobs: Logprob[] = [],
): OpenAI.Responses.ResponseOutputMessage => ({
  type: 'message',
  id,
  role: 'assistant',
  status,
  content: [{ type: 'output_text', text, annotations: [], logprobs }],
});

/**
 * Creates an item that contains the reasoning both as content and as summary, because some clients
 * read only one of them.
 */
export function reasoningItem(
  id: string,
  text: string,
  seal: boolean,
): OpenAI.Responses.ResponseReasoningItem {
  return {
    type: 'reasoning',
    id,
    summary: [{ type: 'summary_text', text }],
    content: [{ type: 'reasoning_text', text }],
    ...(seal && { encrypted_content: sealReasoning(text) }),
    status: 'completed',
  };
}

/**
 * Returns the token usage. `reasoning_tokens` is the number of tokens in the reasoning text,
 * without its tags.
 */
function usage(
  input: number,
  { sequence, response }: Choice,
  tokenizer: Tokenizer,
): OpenAI.Responses.ResponseUsage {
  const output = sequence.tokens.length;
  const reasoning =
    response.reasoningText === undefined
      ? 0
      : Math.min(tokenizer.encode(response.reasoningText).length, output);
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}
