/** Reads one row of preference data: a prompt, a chosen response and a rejected response. */
import type { ChatMessage, RawTask, ToolDefinition } from '@trinity-rft/core';
import { parseJsonExactly } from '@trinity-rft/core/support';
import { hasWeight, readMessages } from './read-messages.js';
import type { SupervisedFormat } from './read-supervised-row.js';
import {
  describe,
  isPresent,
  keyOfMessages,
  missingError,
  readText,
  readTools,
  rowError,
  systemMessage,
} from './row-fields.js';

/** The `format` settings of a preference data set. */
export interface PreferenceFormat extends SupervisedFormat {
  readonly chosenKey: string;
  readonly rejectedKey: string;
}

/** A prompt and two responses that continue it. Each response ends with an assistant message. */
export interface PreferenceRow {
  readonly prompt: readonly ChatMessage[];
  readonly chosen: readonly ChatMessage[];
  readonly rejected: readonly ChatMessage[];
  readonly tools?: readonly ToolDefinition[];
}

/**
 * Reads a row of preference data. A response is a string, a message, or a list of messages. The
 * prompt is a list under `messagesKey`, or a string or list under `promptKey`. If the default key
 * `message` is missing, `messages` is read. If the responses are whole conversations, the prompt is
 * their common beginning. `promptType: plaintext` accepts strings only.
 * @param row name of the row, used in error messages
 * @throws TaskError naming the row, the key and the value found
 */
export function readPreferenceRow(
  rawTask: RawTask,
  format: PreferenceFormat,
  row: number | string = '?',
): PreferenceRow {
  const tools = readTools(rawTask, format.toolsKey, row);
  const answers = {
    chosen: readAnswer(rawTask, format.chosenKey, format, tools, row),
    rejected: readAnswer(rawTask, format.rejectedKey, format, tools, row),
  };
  const whole = isWhole(answers.chosen) || isWhole(answers.rejected);
  const pair = whole
    ? splitWhole(answers, format, row)
    : { prompt: readPrompt(rawTask, format, tools, row), ...answers };
  for (const key of ['chosen', 'rejected'] as const)
    if (!hasWeight(pair[key]))
      throw rowError(row, format[`${key}Key`], 'the answer has weight 0', 'Remove the weight');
  return { ...pair, tools };
}

type Answers = Pick<PreferenceRow, 'chosen' | 'rejected'>;

function readAnswer(
  rawTask: RawTask,
  key: string,
  format: PreferenceFormat,
  tools: readonly ToolDefinition[] | undefined,
  row: number | string,
): readonly ChatMessage[] {
  const fix =
    'Set format.chosen_key and format.rejected_key to the keys of the two answers, as texts or messages';
  if (!isPresent(rawTask[key])) throw missingError(rawTask, row, key, fix);
  if (format.promptType === 'plaintext')
    return [answerOf(readText(rawTask, key, row, fix), key, row)];
  const value = messagesInText(rawTask[key]);
  if (typeof value === 'string' || Number.isFinite(value))
    return [answerOf(String(value), key, row)];
  if (typeof value !== 'object') throw rowError(row, key, `found ${describe(value)}`, fix);
  const messages = readMessages(Array.isArray(value) ? value : [value], row, key, tools);
  const last = messages.at(-1);
  if (last?.role !== 'assistant')
    throw rowError(
      row,
      key,
      `the last message is the ${last?.role}'s`,
      'An answer ends with the assistant',
    );
  if (last.content === '' && !last.tool_calls) throw emptyAnswer(key, row);
  return messages;
}

function answerOf(content: string, key: string, row: number | string): ChatMessage {
  if (content === '') throw emptyAnswer(key, row);
  return { role: 'assistant', content };
}

const emptyAnswer = (key: string, row: number | string) =>
  rowError(
    row,
    key,
    'the answer is empty',
    'Give an answer to prefer over the other, or remove the row',
  );

/** Parses a string of JSON that contains messages. Returns any other value unchanged. */
function messagesInText(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    const parsed = parseJsonExactly(value);
    const first: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
    return typeof first === 'object' && first !== null && 'role' in first ? parsed : value;
  } catch {
    return value;
  }
}

/**
 * Returns true if the messages are a whole conversation, that is, if they do not start with an
 * assistant message.
 */
const isWhole = (messages: readonly ChatMessage[]): boolean => messages[0]?.role !== 'assistant';

/**
 * Returns a string by which messages can be compared. It omits the weight, because the weight only
 * matters in responses.
 */
const textOf = (message: ChatMessage | undefined): string =>
  JSON.stringify({ ...message, weight: undefined });

/**
 * Splits two conversations at the first message that differs, into the prompt that they share and
 * the two responses.
 */
function splitWhole(
  { chosen, rejected }: Answers,
  { chosenKey, rejectedKey }: PreferenceFormat,
  row: number | string,
): PreferenceRow {
  const fix = 'Two whole conversations have the same prompt and end with different answers';
  if (!isWhole(chosen) || !isWhole(rejected)) {
    const [whole, other] = isWhole(chosen) ? [chosenKey, rejectedKey] : [rejectedKey, chosenKey];
    throw rowError(
      row,
      other,
      `it is an answer alone, while "${whole}" is a whole conversation`,
      'Give both in the same way',
    );
  }
  const most = Math.min(chosen.length, rejected.length) - 1;
  const differs = chosen
    .slice(0, most)
    .findIndex((message, i) => textOf(message) !== textOf(rejected[i]));
  const shared = differs < 0 ? most : differs;
  const next = [chosen[shared], rejected[shared]].find(
    (message) => message && message.role !== 'assistant',
  );
  if (next)
    throw rowError(
      row,
      rejectedKey,
      `it differs from "${chosenKey}" at message ${shared + 1}, which is the ${next.role}'s`,
      fix,
    );
  return {
    prompt: chosen.slice(0, shared),
    chosen: chosen.slice(shared),
    rejected: rejected.slice(shared),
  };
}

function readPrompt(
  rawTask: RawTask,
  format: PreferenceFormat,
  tools: readonly ToolDefinition[] | undefined,
  row: number | string,
): readonly ChatMessage[] {
  const messagesKey = keyOfMessages(rawTask, format);
  const asMessages = format.promptType !== 'plaintext' && isPresent(rawTask[messagesKey]);
  const key = asMessages ? messagesKey : format.promptKey;
  if (!isPresent(rawTask[key])) {
    const fix = 'Set format.messages_key or format.prompt_key to the key of the prompt';
    throw missingError(rawTask, row, key, fix);
  }
  const value = format.promptType === 'plaintext' ? rawTask[key] : messagesInText(rawTask[key]);
  if (typeof value === 'string')
    return [...systemMessage(rawTask, format, row), { role: 'user', content: value }];
  if (format.promptType === 'plaintext')
    throw rowError(
      row,
      key,
      `expected text, found ${describe(value)}`,
      'Remove format.prompt_type to read messages',
    );
  const messages = readMessages(value, row, key, tools);
  if (messages.at(-1)?.role === 'assistant')
    throw rowError(
      row,
      key,
      "the last message is the assistant's",
      'A prompt ends before the answer: answers belong under the chosen and the rejected key',
    );
  return messages;
}
