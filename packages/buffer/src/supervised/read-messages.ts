/**
 * Converts a list of unknown values to chat messages, or reports the value that is not a message.
 */
import type { ChatMessage, TaskError, ToolCall, ToolDefinition } from '@trinity-rft/core';
import {
  argumentsWithoutNulls,
  isTrainedInParts,
  reasoningOf,
  stringifyExactly,
  weightGiven,
} from '@trinity-rft/core/support';
import { rowError } from './row-fields.js';

const roles: ReadonlySet<unknown> = new Set(['system', 'developer', 'user', 'assistant', 'tool']);

/**
 * Reads chat messages. Drops fields that are null, because tables represent missing fields as null;
 * drops also arguments of calls that a table added, see `argumentsWithoutNulls`. Reads reasoning and
 * weights also under the names of `reasoningOf` and `weightGiven`.
 * @throws TaskError, naming `row` and `key`, if the value is not a list of chat messages
 */
export function readMessages(
  value: unknown,
  row: number | string,
  key: string,
  tools: readonly ToolDefinition[] = [],
): readonly ChatMessage[] {
  const errorOf = (problem: string, advice: string): TaskError =>
    rowError(row, key, problem, advice);
  const fix = 'Expected a list of messages with role and content';
  if (!Array.isArray(value))
    throw errorOf(`expected a list, found ${value === null ? 'null' : `a ${typeof value}`}`, fix);
  if (value.length === 0) throw errorOf('the list is empty', fix);
  return value.map((entry: unknown, i) => {
    if (typeof entry !== 'object' || entry === null)
      throw errorOf(`message ${i + 1} is ${entry === null ? 'null' : `a ${typeof entry}`}`, fix);
    const fields = Object.fromEntries(
      Object.entries(entry).filter(([, field]) => field !== null && field !== undefined),
    );
    if (!roles.has(fields['role']))
      throw errorOf(
        `message ${i + 1} has the role ${JSON.stringify(fields['role'])}`,
        `Expected one of: ${[...roles].join(', ')}`,
      );
    const content = fields['content'];
    if (content !== undefined && typeof content !== 'string' && !Array.isArray(content))
      throw errorOf(`message ${i + 1} has a ${typeof content} as content`, 'Expected text');
    const isAnswer = fields['role'] === 'assistant';
    if (isAnswer && isTrainedInParts(fields))
      throw errorOf(
        `message ${i + 1} has train_detail, or parts with their own train or weight`,
        'An answer is trained as a whole or not',
      );
    const weight = isAnswer ? weightGiven(fields) : fields['weight'];
    if (weight !== undefined && (!isAnswer || (weight !== 0 && weight !== 1)))
      throw errorOf(
        `message ${i + 1}, the ${String(fields['role'])}'s, has the weight ${JSON.stringify(weight)}`,
        'Expected 0 or 1, in messages of the assistant alone: 0 leaves a message out of training',
      );
    const calls = readToolCalls(fields['tool_calls'], tools, (problem) =>
      errorOf(`message ${i + 1}: ${problem}`, 'Give tool calls as in the OpenAI API'),
    );
    if (content === undefined && !calls)
      throw errorOf(`message ${i + 1} has neither content nor tool calls`, fix);
    const { tool_calls: _raw, ...rest } = fields;
    const reasoning = reasoningOf(fields);
    return {
      ...rest,
      ...(calls && { tool_calls: calls }),
      ...(weight !== undefined && { weight }),
      ...(reasoning !== undefined && { reasoning_content: reasoning }),
    } as unknown as ChatMessage;
  });
}

/**
 * Returns true if at least one of the messages is trained on: an assistant message whose weight is
 * not 0.
 */
export const hasWeight = (messages: readonly ChatMessage[]): boolean =>
  messages.some(({ role, weight }) => role === 'assistant' && weight !== 0);

/**
 * Reads tool calls. Their arguments may be an object or JSON text, and ids may be missing, because
 * data sets differ.
 */
function readToolCalls(
  value: unknown,
  tools: readonly ToolDefinition[],
  errorOf: (problem: string) => TaskError,
): readonly ToolCall[] | undefined {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return undefined;
  if (!Array.isArray(value)) throw errorOf('tool_calls is not a list');
  return value.map((call: unknown, i) => {
    const { id, function: fn } = (call ?? {}) as {
      id?: unknown;
      function?: { name?: unknown; arguments?: unknown };
    };
    if (typeof fn?.name !== 'string') throw errorOf(`tool call ${i + 1} has no function.name`);
    const tool = tools.find((each) => each.function.name === fn.name)?.function;
    const text =
      typeof fn.arguments === 'string'
        ? fn.arguments
        : stringifyExactly(argumentsWithoutNulls(fn.arguments ?? {}, tool?.parameters));
    return {
      id: typeof id === 'string' ? id : `call_${i}`,
      type: 'function',
      function: { name: fn.name, arguments: text },
    };
  });
}
