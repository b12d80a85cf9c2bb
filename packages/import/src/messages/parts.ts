/**
 * Reads the content of messages: a string, or a list of parts in the formats of several vendors.
 */
import type { ToolCall } from '@trinity-rft/core';
import { stringifyExactly } from '@trinity-rft/core/support';
import { fault } from '../record/fault.js';
import { isJson, isPresent, type Json } from '../record/item.js';
import { readCall } from './tool-calls.js';

export interface Parts {
  /** Text of the content, or undefined if it has no text. */
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls: readonly ToolCall[];
  readonly results: readonly ToolResult[];
}

interface ToolResult {
  readonly id?: string;
  readonly content: string;
}

type Kind = 'text' | 'reasoning' | 'call' | 'result';

/**
 * Kinds of parts, keyed by their `type` in the formats of OpenAI, OpenTelemetry, AI SDK and
 * Anthropic.
 */
const kinds: Readonly<Record<string, Kind>> = {
  text: 'text',
  input_text: 'text',
  output_text: 'text',
  reasoning: 'reasoning',
  thinking: 'reasoning',
  tool_call: 'call',
  'tool-call': 'call',
  tool_use: 'call',
  tool_call_response: 'result',
  'tool-result': 'result',
  tool_result: 'result',
};

/**
 * Reads text, reasoning, tool calls and tool results from the content of a message.
 * @throws TaskError for content other than text, such as an image
 */
export function readParts(content: unknown): Parts {
  if (!isPresent(content)) return { calls: [], results: [] };
  if (typeof content === 'string') return { text: content, calls: [], results: [] };
  const parts = Array.isArray(content) ? content.map(readPart) : [readPart(content)];
  const texts = parts.flatMap(([kind, part]) => (kind === 'text' ? [textOf(part)] : []));
  const thoughts = parts.flatMap(([kind, part]) => (kind === 'reasoning' ? [textOf(part)] : []));
  const calls = parts.flatMap(([kind, part]) => (kind === 'call' ? [part] : []));
  return {
    ...(texts.length > 0 && { text: texts.join('\n') }),
    ...(thoughts.length > 0 && { reasoning: thoughts.join('\n') }),
    calls: calls.map(readCall),
    results: parts.flatMap(([kind, part]) => (kind === 'result' ? [resultOf(part)] : [])),
  };
}

function readPart(part: unknown): readonly [Kind, Json] {
  if (typeof part === 'string') return ['text', { text: part }];
  if (!isJson(part)) throw fault('the content of a message is neither text nor parts', part);
  const { type } = part;
  const kind = typeof type === 'string' && Object.hasOwn(kinds, type) ? kinds[type] : undefined;
  if (kind === undefined) throw fault('a message has content other than text', type ?? part);
  return [kind, part];
}

function textOf(part: Json): string {
  const text = part['text'] ?? part['content'] ?? part['thinking'];
  if (typeof text !== 'string') throw fault('a part of a message has no text', part['type']);
  return text;
}

function resultOf(part: Json): ToolResult {
  const id = part['id'] ?? part['toolCallId'] ?? part['tool_use_id'];
  const given = part['response'] ?? part['result'] ?? part['output'] ?? part['content'];
  if (!isPresent(given)) throw fault('a result of a tool is missing', id);
  return { content: resultText(given), ...(typeof id === 'string' && { id }) };
}

/**
 * Returns the text of a tool result, such as `{type: "json", value}` of the AI SDK or Anthropic's
 * list of text parts.
 */
function resultText(given: unknown): string {
  if (typeof given === 'string') return given;
  if (isJson(given) && typeof given['type'] === 'string' && 'value' in given)
    return resultText(given['value']);
  const isText = (part: unknown): boolean => isJson(part) && part['type'] === 'text';
  if (Array.isArray(given) && given.length > 0 && given.every(isText))
    return given.map((part) => textOf(part as Json)).join('\n');
  return stringifyExactly(given);
}
