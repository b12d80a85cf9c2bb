/** Turns a list of anything into chat messages, or says which one is none. */
import type { ChatMessage, TaskError, ToolCall } from '@trinity-rft/core';

const roles: ReadonlySet<unknown> = new Set(['system', 'developer', 'user', 'assistant', 'tool']);

/**
 * Columns of tables hold null where a message lacks a field: those are left out.
 * @param refuse makes the error to throw
 */
export function readMessages(
  value: unknown,
  refuse: (problem: string, cure: string) => TaskError,
): readonly ChatMessage[] {
  const cure = 'Expected a list of messages with role and content';
  if (!Array.isArray(value))
    throw refuse(`expected a list, found ${value === null ? 'null' : `a ${typeof value}`}`, cure);
  if (value.length === 0) throw refuse('the list is empty', cure);
  return value.map((entry: unknown, i) => {
    if (typeof entry !== 'object' || entry === null)
      throw refuse(`message ${i + 1} is ${entry === null ? 'null' : `a ${typeof entry}`}`, cure);
    const fields = Object.fromEntries(
      Object.entries(entry).filter(([, field]) => field !== null && field !== undefined),
    );
    if (!roles.has(fields['role']))
      throw refuse(
        `message ${i + 1} has the role ${JSON.stringify(fields['role'])}`,
        `Expected one of: ${[...roles].join(', ')}`,
      );
    const content = fields['content'];
    if (content !== undefined && typeof content !== 'string' && !Array.isArray(content))
      throw refuse(`message ${i + 1} has a ${typeof content} as content`, 'Expected text');
    const calls = readToolCalls(fields['tool_calls'], (problem) =>
      refuse(`message ${i + 1}: ${problem}`, 'Give tool calls as in the OpenAI API'),
    );
    if (content === undefined && !calls)
      throw refuse(`message ${i + 1} has neither content nor tool calls`, cure);
    const { tool_calls: _raw, ...rest } = fields;
    return { ...rest, ...(calls && { tool_calls: calls }) } as unknown as ChatMessage;
  });
}

/** Arguments may be an object or its JSON text; ids may be missing, as in many data sets. */
function readToolCalls(
  value: unknown,
  refuse: (problem: string) => TaskError,
): readonly ToolCall[] | undefined {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return undefined;
  if (!Array.isArray(value)) throw refuse('tool_calls is not a list');
  return value.map((call: unknown, i) => {
    const { id, function: fn } = (call ?? {}) as {
      id?: unknown;
      function?: { name?: unknown; arguments?: unknown };
    };
    if (typeof fn?.name !== 'string') throw refuse(`tool call ${i + 1} has no function.name`);
    const text =
      typeof fn.arguments === 'string' ? fn.arguments : JSON.stringify(fn.arguments ?? {});
    return {
      id: typeof id === 'string' ? id : `call_${i}`,
      type: 'function',
      function: { name: fn.name, arguments: text },
    };
  });
}
