/**
 * Decides whether a recorded message and a message that an agent sent back are considered the same.
 */
import type { ToolCall } from '@trinity-rft/core';
import { tryJson } from '@trinity-rft/core/support';
import { LRUCache } from 'lru-cache';
import { canonical } from '../json/object.js';
import type { NormalMessage } from '../messages/messages.js';

/**
 * Returns a key that is equal for messages that differ only in details that agent frameworks
 * change: white space around an assistant's text and reasoning, and spacing, key order, escapes and
 * number formats in tool-call arguments.
 */
export function messageKey(message: NormalMessage): string {
  const { role, content } = message;
  if (role === 'system' || role === 'user') return `${role}:${content}`;
  if (role === 'tool')
    return `tool${JSON.stringify([message.tool_call_id, message.name])}:${content}`;
  return JSON.stringify([
    role,
    content.trim(),
    message.reasoning_content?.trim(),
    message.tool_calls?.map(callKey),
  ]);
}

/**
 * Length in characters above which a text becomes a separate key, because concatenating it to a key
 * would take noticeable time.
 */
const longContent = 16_384;

/**
 * Returns the keys that lead from a `Place` to the place after the message: usually one, but two
 * for a long message of another role than the assistant, whose text is a key of its own.
 */
export function messageSteps(message: NormalMessage): readonly string[] {
  const { role, content } = message;
  if (role === 'assistant' || content.length <= longContent) return [messageKey(message)];
  return [`long ${messageKey({ ...message, content: '' })}`, content];
}

function callKey({ id, function: call }: ToolCall): readonly unknown[] {
  return [id, sendableName(call.name), canonicals.memo(call.arguments)];
}

/**
 * Returns the name of a call as an agent can send it. Providers only accept letters, digits, `_`
 * and `-`, so Mastra replaces any other name by `unknown_tool`.
 */
const sendableName = (name: string): string => (/^[\w-]+$/.test(name) ? name : 'unknown_tool');

/**
 * Cache of the canonical JSON of tool-call arguments, which recur in every later prompt of a
 * conversation. Very long arguments are not cached.
 */
const canonicals = new LRUCache<string, string>({
  max: 1024,
  maxEntrySize: 20_000,
  sizeCalculation: (_, key) => key.length + 1,
  memoMethod: (text) => {
    const value = tryJson(text);
    // As in some frameworks, arguments that are not JSON become `{}`.
    return value === undefined ? '{}' : canonical(value);
  },
});

/**
 * Returns the ids of a message's tool calls, joined by spaces. They identify the turn that made the
 * calls.
 */
export function callIds(message: NormalMessage): string {
  return message.tool_calls?.map(({ id }) => id).join(' ') ?? '';
}

/**
 * Returns the number of a turn's tool calls that the client sent back with another name, or with
 * other arguments if the recorded arguments are not JSON. Agents change names with characters that
 * providers reject.
 */
export function replacedCalls(recorded: NormalMessage, sent: NormalMessage): number {
  const changed = (recorded.tool_calls ?? []).filter(({ function: call }, k) => {
    const back = sent.tool_calls?.[k]?.function;
    const isJson = tryJson(call.arguments) !== undefined;
    return back?.name !== call.name || (!isJson && back.arguments !== call.arguments);
  });
  return changed.length;
}
