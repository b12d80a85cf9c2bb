/** Reads the conversation of one row of supervised data, whatever way the row spells it. */
import { TaskError, type ChatMessage, type FormatArgs, type RawTask, type ToolDefinition } from '@trinity-rft/core';
import { readMessages } from './read-messages.js';

/** `format` of a supervised data set. */
export interface SupervisedFormat extends FormatArgs {
  /** `messages`: a list under `messagesKey`; `plaintext`: two texts under `promptKey` and `responseKey`. @default whichever the row has */
  readonly promptType?: 'messages' | 'plaintext';
}

/** A conversation that ends with what the model is to say. */
export interface SupervisedRow {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly ToolDefinition[];
}

/**
 * Messages and tools may be lists, or JSON text of lists. Where the default key `message` is not there, `messages` is read:
 * most data sets call it so.
 * @param row what to call the row in messages: its number, or the set's name and number
 * @throws TaskError naming the row, the key and what was found
 */
export function readSupervisedRow(rawTask: RawTask, format: SupervisedFormat, row: number | string = '?'): SupervisedRow {
  const messagesKey = keyOfMessages(rawTask, format);
  const hasTexts = isPresent(rawTask[format.promptKey]) && isPresent(rawTask[format.responseKey]);
  const asTexts = format.promptType === 'plaintext' || (format.promptType === undefined && !isPresent(rawTask[messagesKey]) && hasTexts);
  const messages = asTexts ? fromTexts(rawTask, format, row) : fromList(rawTask, messagesKey, hasTexts, row);
  const tools = readTools(rawTask, format.toolsKey, row);
  return { messages, ...(tools && { tools }) };
}

const isPresent = (value: unknown): boolean => value !== undefined && value !== null;

function keyOfMessages(rawTask: RawTask, { messagesKey }: FormatArgs): string {
  return messagesKey === 'message' && !isPresent(rawTask['message']) && isPresent(rawTask['messages']) ? 'messages' : messagesKey;
}

function fromList(rawTask: RawTask, key: string, hasTexts: boolean, row: number | string): readonly ChatMessage[] {
  if (!isPresent(rawTask[key])) {
    const cure = hasTexts
      ? 'Set format.prompt_type to plaintext to read prompt and response'
      : 'Set format.messages_key to the key that holds the conversation';
    throw rowError(row, key, `nothing is there; the row has ${Object.keys(rawTask).join(', ') || 'no keys'}`, cure);
  }
  const messages = readMessages(fromJson(rawTask[key], row, key), (problem, cure) => rowError(row, key, problem, cure));
  if (messages.at(-1)?.role !== 'assistant') {
    throw rowError(row, key, `the last message is the ${messages.at(-1)?.role}'s`, 'A conversation to learn from ends with the assistant');
  }
  return messages;
}

function fromTexts(rawTask: RawTask, format: SupervisedFormat, row: number | string): readonly ChatMessage[] {
  const text = (key: string): string => {
    const value = rawTask[key];
    if (typeof value === 'string') return value;
    throw rowError(
      row,
      key,
      `expected text, found ${describe(value)}`,
      'Set format.prompt_key and format.response_key to the keys of the two texts',
    );
  };
  const fromKey =
    format.systemPromptKey !== undefined && isPresent(rawTask[format.systemPromptKey]) ? text(format.systemPromptKey) : undefined;
  const system = fromKey ?? format.systemPrompt;
  return [
    ...(system === undefined ? [] : [{ role: 'system', content: system } as const]),
    { role: 'user', content: text(format.promptKey) },
    { role: 'assistant', content: text(format.responseKey) },
  ];
}

function readTools(rawTask: RawTask, key: string, row: number | string): readonly ToolDefinition[] | undefined {
  if (!isPresent(rawTask[key]) || rawTask[key] === '') return undefined;
  const tools = fromJson(rawTask[key], row, key);
  if (!Array.isArray(tools)) throw rowError(row, key, `expected a list, found ${describe(tools)}`, 'Give the tools as in the OpenAI API');
  if (tools.length === 0) return undefined;
  return tools.map((tool: unknown, i) => {
    const { function: fn } = (tool ?? {}) as { function?: { name?: unknown } };
    if (typeof fn?.name === 'string') return { ...(tool as ToolDefinition), type: 'function' };
    throw rowError(row, key, `tool ${i + 1} has no function.name`, 'Give the tools as in the OpenAI API');
  });
}

function fromJson(value: unknown, row: number | string, key: string): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as unknown;
  } catch (cause) {
    throw rowError(row, key, `the text is not JSON: ${(cause as Error).message}`, 'Expected a list, or the JSON text of one', cause);
  }
}

function describe(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  return Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function rowError(row: number | string, key: string, problem: string, cure: string, cause?: unknown): TaskError {
  return new TaskError(`Row ${row}, key "${key}": ${problem}. ${cure}.`, { code: 'SUPERVISED_ROW', details: { row, key }, cause });
}
