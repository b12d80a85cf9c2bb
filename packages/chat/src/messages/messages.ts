/** Normalizes chat messages from agents for templates, parsers and the ledger. */
import type { ToolCall } from '@trinity-rft/core';
import { isObject, type JsonObject } from '../json/object.js';
import { isTooDeep, maxNesting } from '../tool-call-parser/argument-json.js';
import { invalidRequest } from './invalid-request.js';

/**
 * A message whose content is a string. A field is absent if it was absent or empty before
 * normalization.
 */
export interface NormalMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  /** Reasoning of an assistant message; absent in other messages. */
  readonly reasoning_content?: string;
  /** Tool calls of an assistant message, never empty; absent in other messages. */
  readonly tool_calls?: readonly ToolCall[];
  /** Id of the call to which a tool message responds; absent in other messages. */
  readonly tool_call_id?: string;
  /**
   * Name of the tool whose result a tool message contains; absent in other messages. Some templates
   * print it.
   */
  readonly name?: string;
}

const roles: Readonly<Record<string, NormalMessage['role']>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
  // The role of tool results before tool calls had ids.
  function: 'tool',
};

/**
 * Normalizes messages: joins the text of content parts with line breaks, reads `developer` as
 * `system`, treats missing and null content as empty, and merges adjacent assistant messages (some
 * frameworks split a turn).
 * @throws ModelError 400 naming the field, for roles and content that a text model cannot read
 */
export function normalizeMessages(messages: readonly unknown[]): readonly NormalMessage[] {
  if (messages.length === 0) throw invalidRequest('messages', 'is empty', 'at least one message');
  const out: NormalMessage[] = [];
  messages.forEach((message, i) => {
    const next = normalize(message, `messages[${i}]`);
    const last = out.at(-1);
    if (next.role === 'assistant' && last?.role === 'assistant')
      out[out.length - 1] = merge(last, next);
    else out.push(next);
  });
  return out;
}

function normalize(message: unknown, path: string): NormalMessage {
  if (!isObject(message)) throw invalidRequest(path, 'is not an object', 'a chat message');
  const role = lookUp(roles, message['role']);
  if (!role)
    throw invalidRequest(
      `${path}.role`,
      `is ${JSON.stringify(message['role'])}`,
      'system, developer, user, assistant or tool',
    );
  const content = flatten(message['content'], `${path}.content`);
  if (role === 'assistant') return assistant(message, content, path);
  if (role !== 'tool') return { role, content };
  const { tool_call_id: id, name } = message;
  return {
    role,
    content,
    ...(typeof id === 'string' && { tool_call_id: id }),
    ...(typeof name === 'string' && { name }),
  };
}

function assistant(message: JsonObject, content: string, path: string): NormalMessage {
  const reasoning = message['reasoning_content'] ?? message['reasoning'];
  const calls = message['tool_calls'] ?? [];
  if (!Array.isArray(calls))
    throw invalidRequest(`${path}.tool_calls`, 'is not a list', 'a list of tool calls');
  const toolCalls = (calls as readonly unknown[]).map((call, i) =>
    toolCall(call, `${path}.tool_calls[${i}]`),
  );
  // The form of a call before there were several; frameworks also send null beside tool_calls.
  const only = message['function_call'] ?? undefined;
  if (toolCalls.length === 0 && only !== undefined)
    toolCalls.push(callOf('', only, `${path}.function_call`));
  return {
    role: 'assistant',
    content,
    ...(typeof reasoning === 'string' && reasoning !== '' && { reasoning_content: reasoning }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
  };
}

function toolCall(value: unknown, path: string): ToolCall {
  if (!isObject(value)) throw invalidRequest(path, 'is not an object', 'a tool call');
  const { id } = value;
  return callOf(typeof id === 'string' ? id : '', value['function'], `${path}.function`);
}

function callOf(id: string, value: unknown, path: string): ToolCall {
  const { name, arguments: given } = isObject(value) ? value : {};
  if (typeof name !== 'string')
    throw invalidRequest(`${path}.name`, 'is not a string', 'the name of a function');
  const raw = typeof given === 'string' ? given : JSON.stringify(given ?? {});
  assertNesting(raw, `${path}.arguments`, 'the JSON of an object');
  return { id, type: 'function', function: { name, arguments: raw } };
}

/**
 * Checks the nesting of arguments that a client has sent.
 * @throws ModelError 400 naming `path` if they are nested too deeply
 */
export function assertNesting(json: string, path: string, expected: string): void {
  if (isTooDeep(json))
    throw invalidRequest(path, `is nested deeper than ${maxNesting} levels`, expected);
}

/** Types of content parts that carry text, and the key of that text. */
const textParts: Readonly<Record<string, string>> = {
  text: 'text',
  input_text: 'text',
  output_text: 'text',
  refusal: 'refusal',
};

function flatten(content: unknown, path: string): string {
  if (typeof content === 'string') return content;
  if (content === undefined || content === null) return '';
  if (!Array.isArray(content))
    throw invalidRequest(path, 'is neither text nor a list of parts', 'a string or content parts');
  return (content as readonly unknown[])
    .map((part, i) => partText(part, `${path}[${i}]`))
    .join('\n');
}

function partText(part: unknown, path: string): string {
  if (typeof part === 'string') return part;
  if (!isObject(part))
    throw invalidRequest(path, 'is neither text nor an object', 'a content part');
  const key = lookUp(textParts, part['type']);
  if (key === undefined)
    throw invalidRequest(
      `${path}.type`,
      `is ${JSON.stringify(part['type'])}`,
      'text; this model reads no images, audio or files',
    );
  const text = part[key];
  if (typeof text !== 'string') throw invalidRequest(`${path}.${key}`, 'is not a string', 'text');
  return text;
}

/**
 * Looks up a key in a table, ignoring inherited keys, because a client may send `constructor` as a
 * role.
 */
function lookUp<T>(table: Readonly<Record<string, T>>, key: unknown): T | undefined {
  return typeof key === 'string' && Object.hasOwn(table, key) ? table[key] : undefined;
}

function merge(a: NormalMessage, b: NormalMessage): NormalMessage {
  const join = (...parts: readonly (string | undefined)[]): string =>
    parts.filter(Boolean).join('\n');
  const reasoning = join(a.reasoning_content, b.reasoning_content);
  const toolCalls = [...(a.tool_calls ?? []), ...(b.tool_calls ?? [])];
  return {
    role: 'assistant',
    content: join(a.content, b.content),
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
  };
}
