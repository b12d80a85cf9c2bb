/**
 * Checks that tool messages refer to tool calls. OpenAI's servers also reject tool messages without
 * a call, so agents that work with OpenAI's servers never send these messages.
 */
import { invalidRequest, quote } from '@trinity-rft/chat/internal';
import { isObject, isPresent } from './fields.js';

/**
 * Checks the ids of tool messages. An id may be reused in later messages, as few-shot examples in
 * prompts do. It may not be reused within one message, because a result could then belong to either
 * call. Results without an id are accepted, because older agents send them.
 * @throws ModelError 400 naming the message
 */
export function checkToolResults(messages: readonly unknown[]): void {
  const known = new Set<unknown>();
  for (const [i, message] of messages.entries()) {
    if (!isObject(message)) continue;
    const { role, tool_call_id: id } = message;
    if (role === 'assistant')
      for (const callId of callIds(message['tool_calls'], i)) known.add(callId);
    if (role !== 'tool' || !isPresent(id)) continue;
    checkResultId(id, `messages[${i}].tool_call_id`, known);
  }
}

/**
 * Checks the id of a tool result.
 * @param known ids of the tool calls of earlier messages
 * @throws ModelError 400
 */
export function checkResultId(id: unknown, path: string, known: ReadonlySet<unknown>): void {
  if (typeof id !== 'string') throw invalidRequest(path, `is ${quote(id)}`, 'a string');
  if (!known.has(id))
    throw invalidRequest(
      path,
      `is ${quote(id)}, but no earlier message calls a tool with this id`,
      'the id of a tool call of an earlier assistant message',
    );
}

function callIds(calls: unknown, message: number): ReadonlySet<unknown> {
  const ids = new Set<unknown>();
  if (!Array.isArray(calls)) return ids;
  for (const [k, call] of (calls as readonly unknown[]).entries()) {
    const id = isObject(call) ? call['id'] : undefined;
    if (!isPresent(id)) continue;
    addCallId(id, `messages[${message}].tool_calls[${k}].id`, ids);
  }
  return ids;
}

/**
 * Adds the id of a tool call to the ids of its message.
 * @throws ModelError 400
 */
export function addCallId(id: unknown, path: string, ids: Set<unknown>): void {
  if (typeof id !== 'string') throw invalidRequest(path, `is ${quote(id)}`, 'a string');
  if (id !== '' && ids.has(id))
    throw invalidRequest(
      path,
      `is ${quote(id)} again`,
      'a different id for every call of a message',
    );
  ids.add(id);
}
