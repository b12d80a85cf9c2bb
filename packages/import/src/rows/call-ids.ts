/** Adds the ids of tool calls that a source omits, and removes arguments that a table adds. */
import type { ChatMessage, ToolCall } from '@trinity-rft/core';
import { withoutNullArguments } from '../messages/tool-calls.js';
import type { Conversation, Preference } from '../record/item.js';

type Convert = (messages: readonly ChatMessage[]) => readonly ChatMessage[];

/** Converts all messages of an item, those of answers after those of their prompt. */
function mapMessages<T extends Conversation | Preference>(item: T, convert: Convert): T {
  if (!('chosen' in item)) return { ...item, messages: convert(item.messages) };
  const { prompt, chosen, rejected } = item;
  const after: Convert = (answer) => convert([...prompt, ...answer]).slice(prompt.length);
  return { ...item, prompt: convert(prompt), chosen: after(chosen), rejected: after(rejected) };
}

/** Adds missing ids to the tool calls of an item, and missing call ids to the tool results. */
export const withCallIds = <T extends Conversation | Preference>(item: T): T =>
  mapMessages(item, numbered);

/** Removes arguments that are null, see {@link withoutNullArguments}. */
export const withoutNulls = <T extends Conversation | Preference>(item: T): T =>
  mapMessages(item, (messages) => withoutNullArguments(messages, item.tools));

/**
 * Adds missing ids. A tool result without a call id gets the id of the first call without a result.
 */
function numbered(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const given = new Set(
    messages.flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }) => id)),
  );
  const open: string[] = [];
  let made = 0;
  const newId = (): string => {
    while (given.has(`call_${made}`)) made++;
    return `call_${made++}`;
  };
  return messages.map((message) => {
    if (message.tool_calls) {
      const calls = message.tool_calls.map((call): ToolCall =>
        call.id === '' ? { ...call, id: newId() } : call,
      );
      open.push(...calls.map(({ id }) => id));
      return { ...message, tool_calls: calls };
    }
    if (message.role !== 'tool') return message;
    const id = message.tool_call_id ?? open[0];
    if (id === undefined) return message;
    if (open.includes(id)) open.splice(open.indexOf(id), 1);
    return { ...message, tool_call_id: id };
  });
}
