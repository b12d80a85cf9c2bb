/** Adds the ids of tool calls that a source omits. */
import type { ChatMessage, ToolCall } from '@trinity-rft/core';
import type { Conversation, Preference } from '../record/item.js';

/** Adds missing ids to the tool calls of an item, and missing call ids to the tool results. */
export function withCallIds<T extends Conversation | Preference>(item: T): T {
  if (!('chosen' in item)) return { ...item, messages: numbered(item.messages) };
  const { prompt, chosen, rejected } = item;
  const after = (answer: readonly ChatMessage[]): readonly ChatMessage[] =>
    numbered([...prompt, ...answer]).slice(prompt.length);
  return { ...item, prompt: numbered(prompt), chosen: after(chosen), rejected: after(rejected) };
}

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
