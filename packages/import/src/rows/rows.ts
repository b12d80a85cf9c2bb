/** Converts conversations and preferences to training rows. */
import type { ChatMessage } from '@trinity-rft/core';
import { stringifyExactly } from '@trinity-rft/core/support';
import { fault } from '../record/fault.js';
import { isPresent, type Conversation, type Json, type Preference } from '../record/item.js';
import type { RowKind } from '../record/row-kind.js';

/** Returns the default kind of row for an item. */
export function kindOf(item: Conversation | Preference): RowKind {
  if ('chosen' in item) return 'dpo';
  return item.truth === undefined && endsWithAnswer(item.messages) ? 'sft' : 'tasks';
}

const endsWithAnswer = (messages: readonly ChatMessage[]): boolean =>
  messages.at(-1)?.role === 'assistant';

/**
 * Checks that the last message has content or tool calls.
 * @throws TaskError from `fault` if it has neither
 */
function assertNotEmpty(messages: readonly ChatMessage[]): void {
  const last = messages.at(-1);
  if ((last?.content ?? '') === '' && !last?.tool_calls) throw fault('an answer is empty');
}

/**
 * Creates a row of `sft`: a conversation that ends with a response.
 * @throws TaskError from `fault` if the item cannot become such a row
 */
export function sftRow(item: Conversation | Preference): Json {
  const messages = 'chosen' in item ? [...item.prompt, ...item.chosen] : item.messages;
  if (!endsWithAnswer(messages))
    throw fault('the conversation does not end with an answer', messages.at(-1)?.role);
  assertNotEmpty(messages);
  if ('isRejected' in item && item.isRejected)
    throw fault(
      'label or kto_tag is false, which marks a rejected answer; rename the column if it is a class, or import as dpo',
    );
  if (messages.every(({ role, weight }) => role !== 'assistant' || weight === 0))
    throw fault('every answer has weight 0');
  return { messages, ...toolsOf(item) };
}

/**
 * Creates a row of `dpo`: a prompt with a chosen and a rejected response.
 * @throws TaskError from `fault` if the pair cannot become such a row
 */
export function dpoRow({ prompt, chosen, rejected, ...rest }: Preference): Json {
  if (JSON.stringify(chosen) === JSON.stringify(rejected)) throw fault('both answers are the same');
  for (const answer of [chosen, rejected]) {
    if (!endsWithAnswer(answer)) throw fault('an answer does not end with the assistant');
    assertNotEmpty(answer);
  }
  if (endsWithAnswer(prompt)) throw fault("the prompt ends with the assistant's message");
  return { prompt, chosen, rejected, ...toolsOf(rest) };
}

/**
 * Creates a row of a task set: the messages up to the user's last message, and the reference answer
 * as a string. If the messages consist of one question (and a system message), the row also has
 * `question` (and `system`), for workflows whose input is a string.
 * @param hasReferences true if the conversation's last response is the reference answer
 * @throws TaskError from `fault` if the conversation cannot become a row
 */
export function taskRow(item: Conversation | Preference, hasReferences: boolean): Json {
  const whole = 'chosen' in item ? item.prompt : item.messages;
  const end = whole.findLastIndex(({ role }) => role === 'user' || role === 'developer');
  if (end < 0) throw fault('the conversation has no message of the user');
  const messages = whole.slice(0, end + 1);
  const conversation: Partial<Conversation> = 'chosen' in item ? {} : item;
  const isReference = hasReferences && !conversation.isRejected && endsWithAnswer(whole);
  const said = isReference ? whole.at(-1)?.content : undefined;
  const truth = conversation.truth ?? (said === '' ? undefined : said);
  return {
    messages,
    ...questionOf(messages),
    ...(isPresent(truth) && {
      answer: typeof truth === 'string' ? truth : stringifyExactly(truth),
    }),
    ...toolsOf(item),
    ...conversation.fields,
  };
}

function questionOf(messages: readonly ChatMessage[]): Json {
  const [first, second, third] = messages;
  if (third !== undefined) return {};
  if (first?.role === 'user' && !second) return { question: first.content };
  return first?.role === 'system' && second?.role === 'user'
    ? { system: first.content, question: second.content }
    : {};
}

const toolsOf = ({ tools }: Pick<Preference, 'tools'>): Json => (tools ? { tools } : {});
