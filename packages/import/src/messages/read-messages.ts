/** Converts messages in the formats of all vendors to chat messages. */
import type { ChatMessage, ToolCall } from '@trinity-rft/core';
import { isTrainedInParts, reasoningOf, weightGiven } from '@trinity-rft/core/support';
import { fault } from '../record/fault.js';
import { isJson, isPresent, type Json } from '../record/item.js';
import { parsed, unwrapped } from './json-text.js';
import { readParts, type Parts } from './parts.js';
import { readCall, readCalls } from './tool-calls.js';

type Role = ChatMessage['role'];

/**
 * Chat roles, keyed by the role names of vendors. `function_call` stands for a message that
 * consists only of a tool call.
 */
const roles: Readonly<Record<string, Role | 'function_call'>> = {
  system: 'system',
  developer: 'developer',
  user: 'user',
  human: 'user',
  assistant: 'assistant',
  ai: 'assistant',
  gpt: 'assistant',
  model: 'assistant',
  bot: 'assistant',
  tool: 'tool',
  function: 'tool',
  observation: 'tool',
  function_call: 'function_call',
  tool_call: 'function_call',
};

/** Matches LangChain's class names, which are the roles in serialized messages. */
const classRole = /^(System|Human|AI|Tool|Function)Message(?:Chunk)?$/;

/**
 * Reads a list of messages, or a JSON string of such a list. A tool call without an id gets an
 * empty id.
 * @throws TaskError from `fault` if the record must be skipped
 */
export function readMessages(value: unknown): readonly ChatMessage[] {
  const list = unwrapped(value);
  if (typeof list === 'string' && list.startsWith('['))
    throw fault('JSON text is cut off or malformed: the messages', list.slice(-30));
  if (!Array.isArray(list)) throw fault('the messages are not a list', list);
  if (list.length === 0) throw fault('the list of messages is empty');
  return list.flatMap(readMessage);
}

/** Reads one message. Each of its tool results becomes a separate message. */
export function readMessage(value: unknown): readonly ChatMessage[] {
  const message = plain(unwrapped(value));
  if (!isJson(message)) throw fault('a message is not an object', message);
  const role = roleOf(message);
  const content = message['content'] ?? message['value'] ?? message['parts'];
  if (role === 'function_call') {
    const calls = parsed(content, 'a tool call');
    const list: readonly unknown[] = Array.isArray(calls) ? calls : [calls];
    if (list.length === 0) throw fault('a message has no tool call');
    return [
      { role: 'assistant', content: '', tool_calls: list.map(readCall), ...weightOf(message) },
    ];
  }
  const parts = readParts(content);
  if (parts.results.length > 0) return resultsOf(parts, role);
  if (role === 'assistant') return [readAnswer(message, parts)];
  if (parts.text === undefined) throw fault('a message has no content', { role });
  return [{ role, content: parts.text, ...keep(message, ['name']), ...callId(role, message) }];
}

/** Flattens LangChain's `{lc, id, kwargs}` and `{type, data}` into one object. */
function plain(value: unknown): unknown {
  if (!isJson(value)) return value;
  const { id, kwargs, type, data } = value;
  if (isJson(kwargs) && Array.isArray(id))
    return { role: classRole.exec(String(id.at(-1)))?.[1]?.toLowerCase(), ...kwargs };
  return typeof type === 'string' && isJson(data) ? { role: type, ...data } : value;
}

function roleOf(message: Json): Role | 'function_call' {
  const name = message['role'] ?? message['from'] ?? message['type'];
  if (typeof name !== 'string') throw fault('a message has no role', Object.keys(message));
  const role = Object.hasOwn(roles, name) ? roles[name] : undefined;
  if (role === undefined) throw fault('a message has an unknown role', name);
  return role;
}

function readAnswer(message: Json, parts: Parts): ChatMessage {
  // LangChain keeps fields of the vendor's message here, and may repeat the calls of the message.
  const { additional_kwargs: vendor } = message;
  const raw = isJson(vendor) ? vendor : {};
  const calls =
    [callsIn(message), parts.calls, callsIn(raw)].find(({ length }) => length > 0) ?? [];
  const { text } = parts;
  const fields: Json = { ...raw, ...message };
  const reasoning = parts.reasoning ?? reasoningOf(fields);
  if (text === undefined && calls.length === 0)
    throw fault('an answer has neither content nor tool calls');
  return {
    role: 'assistant',
    ...(text !== undefined && { content: text }),
    ...keep(message, ['name']),
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...weightOf(message),
  };
}

/**
 * Returns the weight of an answer.
 * @throws TaskError from `fault` for other weights, and for those of parts of an answer
 */
function weightOf(message: Json): Pick<ChatMessage, 'weight'> {
  if (isTrainedInParts(message))
    throw fault(
      'only parts of an answer are trained (train_detail), which rows cannot say',
      message['train_detail'],
    );
  const weight = weightGiven(message);
  if (weight === undefined) return {};
  if (weight !== 0 && weight !== 1) throw fault('a weight is neither 0 nor 1', weight);
  return { weight };
}

function callsIn({ tool_calls, toolCalls, function_call: only }: Json): readonly ToolCall[] {
  const calls = readCalls(tool_calls ?? toolCalls);
  return calls.length === 0 && isPresent(only) ? [readCall(only)] : calls;
}

function resultsOf({ results, text, calls }: Parts, role: Role): readonly ChatMessage[] {
  if (role === 'assistant' || calls.length > 0)
    throw fault('a message of the assistant holds results of tools');
  const messages = results.map(({ id, content }): ChatMessage => ({
    role: 'tool',
    content,
    ...(id !== undefined && { tool_call_id: id }),
  }));
  return text === undefined || text === ''
    ? messages
    : [...messages, { role: 'user', content: text }];
}

/** Returns the properties of a message that are named in `keys` and are strings. */
const keep = (message: Json, keys: readonly string[]): Json =>
  Object.fromEntries(
    keys.flatMap((key) => (typeof message[key] === 'string' ? [[key, message[key]]] : [])),
  );

function callId(role: Role, message: Json): Json {
  const id = message['tool_call_id'] ?? message['toolCallId'];
  return role === 'tool' && typeof id === 'string' ? { tool_call_id: id } : {};
}
