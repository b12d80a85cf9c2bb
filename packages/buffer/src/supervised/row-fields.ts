/**
 * Code that the readers of supervised rows share: keys, JSON text, tools, system prompts, and
 * errors.
 */
import { type RawTask, type ToolDefinition, TaskError } from '@trinity-rft/core';
import type { FormatArgs } from '@trinity-rft/core/internal';
import { parseJsonExactly, stringifyExactly, toolWithoutNulls } from '@trinity-rft/core/support';

export const isPresent = (value: unknown): boolean => value !== undefined && value !== null;

export function keyOfMessages(rawTask: RawTask, { messagesKey }: FormatArgs): string {
  return messagesKey === 'message' &&
    !isPresent(rawTask['message']) &&
    isPresent(rawTask['messages'])
    ? 'messages'
    : messagesKey;
}

export function readTools(
  rawTask: RawTask,
  key: string,
  row: number | string,
): readonly ToolDefinition[] | undefined {
  if (!isPresent(rawTask[key]) || rawTask[key] === '') return undefined;
  const tools = fromJson(rawTask[key], row, key);
  if (!Array.isArray(tools))
    throw rowError(
      row,
      key,
      `expected a list, found ${describe(tools)}`,
      'Give the tools as in the OpenAI API',
    );
  if (tools.length === 0) return undefined;
  return tools.map((tool: unknown, i) => {
    const { function: fn } = (tool ?? {}) as { function?: { name?: unknown } };
    if (typeof fn?.name === 'string') return asTool(tool as Readonly<Record<string, unknown>>);
    throw rowError(
      row,
      key,
      `tool ${i + 1} has no function.name`,
      'Give the tools as in the OpenAI API',
    );
  });
}

function asTool(given: Readonly<Record<string, unknown>>): ToolDefinition {
  const tool = toolWithoutNulls(given) as unknown as ToolDefinition;
  const { parameters } = tool.function;
  const source = stringifyExactly(parameters);
  const isExact = source === JSON.stringify(parameters);
  return { ...tool, type: 'function', ...(!isExact && { parametersSource: source }) };
}

export function fromJson(value: unknown, row: number | string, key: string): unknown {
  if (typeof value !== 'string') return value;
  try {
    return parseJsonExactly(value);
  } catch (cause) {
    throw rowError(
      row,
      key,
      `the text is not JSON: ${(cause as Error).message}`,
      'Expected a list, or the JSON text of one',
      cause,
    );
  }
}

export function describe(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  return Array.isArray(value)
    ? 'a list'
    : typeof value === 'object'
      ? 'an object'
      : typeof value === 'number' && !Number.isFinite(value)
        ? String(value)
        : `a ${typeof value}`;
}

export function rowError(
  row: number | string,
  key: string,
  problem: string,
  fix: string,
  cause?: unknown,
): TaskError {
  return new TaskError(`Row ${row}, key "${key}": ${problem}. ${fix}.`, {
    code: 'SUPERVISED_ROW',
    details: { row, key },
    cause,
  });
}

export const missingError = (
  rawTask: RawTask,
  row: number | string,
  key: string,
  fix: string,
): TaskError =>
  rowError(
    row,
    key,
    `nothing is there; the row has ${Object.keys(rawTask).join(', ') || 'no keys'}`,
    fix,
  );

/**
 * Reads a required string. A finite number is its digits, as in tasks.
 * @param fix what to do if the string is missing, used in the error message
 */
export function readText(rawTask: RawTask, key: string, row: number | string, fix: string): string {
  const value = rawTask[key];
  if (typeof value === 'string') return value;
  if (Number.isFinite(value)) return String(value);
  throw rowError(row, key, `expected text, found ${describe(value)}`, fix);
}

/**
 * Returns the system prompt as a list of at most one message. The prompt of the row takes
 * precedence over that of the format.
 */
export function systemMessage(
  rawTask: RawTask,
  { systemPromptKey, systemPrompt }: FormatArgs,
  row: number | string,
): readonly { readonly role: 'system'; readonly content: string }[] {
  const own = systemPromptKey !== undefined && isPresent(rawTask[systemPromptKey]);
  const content = own
    ? readText(rawTask, systemPromptKey, row, 'A system prompt is a text')
    : systemPrompt;
  return content === undefined ? [] : [{ role: 'system', content }];
}
