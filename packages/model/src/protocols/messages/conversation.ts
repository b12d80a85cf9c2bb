/** Converts conversations of the Messages API to the format of chat completions. */
import { assertNesting, invalidRequest, quote } from '@trinity-rft/chat/internal';
import { isObject, isPresent, list, type JsonObject } from '../shared/request/fields.js';
import { addCallId, checkResultId } from '../shared/request/tool-results.js';
import { openReasoning } from '../shared/sealed-reasoning.js';

/**
 * Converts the system prompt and the messages of a request to chat messages.
 * @throws ModelError 400 naming the message and the content block
 */
export function toChatMessages(body: JsonObject): readonly JsonObject[] {
  const system = isPresent(body['system'])
    ? [{ role: 'system', content: textOf(body['system'], 'system') }]
    : [];
  const sent = list(body, 'messages');
  if (!sent?.length)
    throw invalidRequest('messages', sent ? 'is empty' : 'is missing', 'at least one message');
  const known = new Set<unknown>();
  const messages = sent.flatMap((message, i) => toMessages(message, `messages[${i}]`, known));
  return [...system, ...messages];
}

/** @param known ids of the tool calls of earlier messages, to which those of the message are added */
function toMessages(message: unknown, path: string, known: Set<unknown>): readonly JsonObject[] {
  if (!isObject(message)) throw invalidRequest(path, `is ${quote(message)}`, 'a message');
  const { role, content } = message;
  const blocks = blocksOf(content, `${path}.content`);
  if (role === 'user') return userMessages(blocks, known);
  if (role === 'assistant') return [assistantMessage(blocks, known)];
  throw invalidRequest(`${path}.role`, `is ${quote(role)}`, 'user or assistant');
}

interface Block {
  readonly type: string;
  readonly value: JsonObject;
  readonly path: string;
}

function blocksOf(content: unknown, path: string): readonly Block[] {
  if (typeof content === 'string')
    return [{ type: 'text', value: { type: 'text', text: content }, path }];
  if (!Array.isArray(content))
    throw invalidRequest(path, `is ${quote(content)}`, 'text or a list of blocks');
  return (content as readonly unknown[]).map((value, i) => {
    const at = `${path}[${i}]`;
    if (isObject(value) && typeof value['type'] === 'string')
      return { type: value['type'], value, path: at };
    throw invalidRequest(at, `is ${quote(value)}`, 'a block with a type');
  });
}

/**
 * Converts a user message. Each tool result becomes a separate message before the message with the
 * text.
 */
function userMessages(
  blocks: readonly Block[],
  known: ReadonlySet<unknown>,
): readonly JsonObject[] {
  const results: JsonObject[] = [];
  const texts: string[] = [];
  for (const { type, value, path } of blocks) {
    if (type === 'tool_result') results.push(resultOf(value, path, known));
    else if (type === 'text') texts.push(string(value, 'text', path));
    else throw unsupported(type, path, 'text or tool_result');
  }
  return texts.length > 0 || results.length === 0
    ? [...results, { role: 'user', content: texts.join('\n') }]
    : results;
}

/** Converts a tool result. The text of a failed call begins with `Error: `, or as the client says. */
function resultOf(value: JsonObject, path: string, known: ReadonlySet<unknown>): JsonObject {
  const { tool_use_id: id, content, is_error: isError = false } = value;
  if (isPresent(id)) checkResultId(id, `${path}.tool_use_id`, known);
  if (isPresent(isError) && typeof isError !== 'boolean')
    throw invalidRequest(`${path}.is_error`, `is ${quote(isError)}`, 'true or false');
  const text = isPresent(content) ? textOf(content, `${path}.content`) : '';
  const isMarked = isError !== true || /^error\b/i.test(text);
  return { role: 'tool', tool_call_id: id, content: isMarked ? text : `Error: ${text}` };
}

function assistantMessage(blocks: readonly Block[], known: Set<unknown>): JsonObject {
  const texts: string[] = [];
  const reasoning: string[] = [];
  const calls: JsonObject[] = [];
  const ids = new Set<unknown>();
  for (const { type, value, path } of blocks) {
    if (type === 'text') texts.push(string(value, 'text', path));
    else if (type === 'thinking') reasoning.push(string(value, 'thinking', path));
    else if (type === 'redacted_thinking')
      reasoning.push(openReasoning(string(value, 'data', path)));
    else if (type === 'tool_use') {
      if (isPresent(value['id'])) addCallId(value['id'], `${path}.id`, ids);
      calls.push(callOf(value, path));
    } else throw unsupported(type, path, 'text, thinking or tool_use');
  }
  for (const id of ids) known.add(id);
  return {
    role: 'assistant',
    content: texts.join(''),
    ...(reasoning.length > 0 && { reasoning_content: reasoning.join('\n') }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function callOf({ id, name, input }: JsonObject, path: string): JsonObject {
  if (typeof name !== 'string' || name === '')
    throw invalidRequest(`${path}.name`, `is ${quote(name)}`, 'the name of a tool');
  if (!isObject(input)) throw invalidRequest(`${path}.input`, `is ${quote(input)}`, 'an object');
  const json = JSON.stringify(input);
  assertNesting(json, `${path}.input`, 'an object');
  return { id, type: 'function', function: { name, arguments: json } };
}

function textOf(value: unknown, path: string): string {
  const parts = blocksOf(value, path).map((block) => {
    if (block.type !== 'text') throw unsupported(block.type, block.path, 'text');
    return string(block.value, 'text', block.path);
  });
  return parts.join('\n');
}

function string(value: JsonObject, key: string, path: string): string {
  const text = value[key];
  if (typeof text === 'string') return text;
  throw invalidRequest(`${path}.${key}`, `is ${quote(text)}`, 'a string');
}

const unsupported = (type: string, path: string, expected: string) =>
  invalidRequest(`${path}.type`, `is ${quote(type)}, which is not supported here`, expected);
