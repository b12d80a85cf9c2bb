/** Writes responses in Anthropic's format. */
import type { ToolCall } from '@trinity-rft/core';
import { tryJson } from '@trinity-rft/core/support';
import type { Generation } from '../../rollout/generate.js';
import { isObject, type JsonObject } from '../shared/request/fields.js';
import { sealReasoning } from '../shared/sealed-reasoning.js';

export type Block =
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'tool_use';
      readonly id: string;
      readonly name: string;
      readonly input: JsonObject;
    };

/** Fields of a message that are known before its first token. */
export interface MessageHead {
  readonly id: string;
  readonly model: string;
}

export interface MessageBody {
  readonly id: string;
  readonly type: 'message';
  readonly role: 'assistant';
  readonly model: string;
  readonly content: readonly Block[];
  readonly stop_reason: string | null;
  readonly stop_sequence: string | null;
  readonly usage: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly cache_creation_input_tokens: number;
    readonly cache_read_input_tokens: number;
  };
}

/** Creates a message without content, for the start of a stream. */
export const newMessage = ({ id, model }: MessageHead): MessageBody => ({
  id,
  type: 'message',
  role: 'assistant',
  model,
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: usage(0, 0),
});

/**
 * Converts a generation to a message. Thinking, text and tool calls are in the order in which the
 * model generated them.
 */
export function toMessage({ promptIds, choices }: Generation, head: MessageHead): MessageBody {
  const { response, sequence } = choices[0]!; // This API has no `n`, so there is one choice.
  const { reasoningText, responseText, toolCalls, finishReason } = response;
  const { stopString } = sequence;
  const reason = stopString === undefined ? stopReasons[finishReason] : 'stop_sequence';
  return {
    ...newMessage(head),
    content: [
      ...(reasoningText === undefined ? [] : [thinkingBlock(reasoningText)]),
      ...(responseText === '' ? [] : [{ type: 'text' as const, text: responseText }]),
      ...toolCalls.map(toolBlock),
    ],
    stop_reason: toolCalls.length > 0 && finishReason !== 'length' ? 'tool_use' : reason,
    stop_sequence: stopString ?? null,
    usage: usage(promptIds.length, sequence.tokens.length),
  };
}

const stopReasons = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' } as const;

const usage = (input: number, output: number): MessageBody['usage'] => ({
  input_tokens: input,
  output_tokens: output,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
});

const thinkingBlock = (thinking: string): Block => ({
  type: 'thinking',
  thinking,
  signature: sealReasoning(thinking),
});

const toolBlock = ({ id, function: { name, arguments: args } }: ToolCall): Block => ({
  type: 'tool_use',
  id,
  name,
  input: objectIn(args),
});

/**
 * Parses the arguments of a tool call. If they are not a JSON object, returns an empty object. Tool
 * call parsers accept only JSON objects, but an external model may return other text.
 */
function objectIn(args: string): JsonObject {
  const value = tryJson(args);
  return isObject(value) ? value : {};
}
