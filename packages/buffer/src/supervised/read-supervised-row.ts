/** Reads the conversation in one row of supervised data. Supports the common layouts of rows. */
import type { ChatMessage, RawTask, ToolDefinition } from '@trinity-rft/core';
import type { FormatArgs } from '@trinity-rft/core/internal';
import { hasWeight, readMessages } from './read-messages.js';
import {
  fromJson,
  isPresent,
  keyOfMessages,
  missingError,
  readText,
  readTools,
  rowError,
  systemMessage,
} from './row-fields.js';

/** The `format` settings of a supervised data set. */
export interface SupervisedFormat extends FormatArgs {
  /**
   * Layout of the rows. `messages` is a list of messages under `messagesKey`. `plaintext` is two
   * strings, under `promptKey` and `responseKey`.
   * @default undefined: the layout is detected for each row
   */
  readonly promptType?: 'messages' | 'plaintext';
}

/** A conversation whose last message is the response to learn. */
export interface SupervisedRow {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly ToolDefinition[];
}

/**
 * Reads a row of supervised data. Messages and tools may be lists, or JSON text of lists. If the
 * default key `message` is missing, reads `messages`, the name that most data sets use.
 * @param row name of the row, used in error messages: its number, or the name of the data set and
 * the number
 * @throws TaskError naming the row, the key and the value found
 */
export function readSupervisedRow(
  rawTask: RawTask,
  format: SupervisedFormat,
  row: number | string = '?',
): SupervisedRow {
  const messagesKey = keyOfMessages(rawTask, format);
  const hasTexts = isPresent(rawTask[format.promptKey]) && isPresent(rawTask[format.responseKey]);
  const asTexts =
    format.promptType === 'plaintext' ||
    (format.promptType === undefined && !isPresent(rawTask[messagesKey]) && hasTexts);
  const tools = readTools(rawTask, format.toolsKey, row);
  const messages = asTexts
    ? fromTexts(rawTask, format, row)
    : fromList(rawTask, messagesKey, hasTexts, tools, row);
  return { messages, tools };
}

function fromList(
  rawTask: RawTask,
  key: string,
  hasTexts: boolean,
  tools: readonly ToolDefinition[] | undefined,
  row: number | string,
): readonly ChatMessage[] {
  if (!isPresent(rawTask[key])) {
    const fix = hasTexts
      ? 'Set format.prompt_type to plaintext to read prompt and response'
      : 'Set format.messages_key to the key of the conversation';
    throw missingError(rawTask, row, key, fix);
  }
  const messages = readMessages(fromJson(rawTask[key], row, key), row, key, tools);
  if (messages.at(-1)?.role !== 'assistant') {
    throw rowError(
      row,
      key,
      `the last message is the ${messages.at(-1)?.role}'s`,
      'A conversation to learn from ends with the assistant',
    );
  }
  if (!hasWeight(messages))
    throw rowError(row, key, 'every answer has weight 0', 'Give one weight 1, or remove the row');
  return messages;
}

function fromTexts(
  rawTask: RawTask,
  format: SupervisedFormat,
  row: number | string,
): readonly ChatMessage[] {
  const text = (key: string): string =>
    readText(
      rawTask,
      key,
      row,
      'Set format.prompt_key and format.response_key to the keys of the two texts',
    );
  return [
    ...systemMessage(rawTask, format, row),
    { role: 'user', content: text(format.promptKey) },
    { role: 'assistant', content: text(format.responseKey) },
  ];
}
