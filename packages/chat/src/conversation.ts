/** Supervised data: converts a conversation to token ids, with a mask of the tokens to train on. */
import { type ChatMessage, type ToolDefinition, TaskError } from '@trinity-rft/core';
import type { ChatFormat } from './format/chat-format.js';
import type { PromptInput } from './format/prompt.js';
import { normalizeMessages, type NormalMessage } from './messages/messages.js';

export interface ConversationInput {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly ToolDefinition[];
  readonly enableThinking?: boolean;
  /**
   * Assistant messages to train on: the last one, all, or those from message index `from` on. The
   * `weight` of a message takes precedence, but answers that end before `from` are never trained on.
   * An answer of several messages is trained on whole.
   * @default "last"
   */
  readonly trainOn?: 'last' | 'all' | { readonly from: number };
}

export interface EncodedConversation {
  readonly tokens: readonly number[];
  /** Number of tokens before the first token to train on. */
  readonly promptLength: number;
  /**
   * 1 for tokens to train on, including stop tokens; 0 for other tokens. Aligned to
   * `tokens[promptLength..]`.
   */
  readonly actionMask: readonly number[];
}

/**
 * Encodes a conversation. For each message to train on, the trained tokens are those of the text
 * that the template adds to the prompt of this message, up to and including the stop token. That
 * text is encoded separately, as if it had been sampled.
 * @throws TaskError when there is no assistant message to train on, adjacent assistant messages
 * have different weights, or the template changes earlier text when messages are added
 */
export function encodeConversation(
  format: ChatFormat,
  input: ConversationInput,
): EncodedConversation {
  const messages = normalizeMessages(input.messages);
  const assistants = messages.flatMap((message, index) =>
    message.role === 'assistant' ? [index] : [],
  );
  const trainOn = placeIn(input);
  const [from, since] =
    typeof input.trainOn === 'object' && typeof trainOn === 'object'
      ? [trainOn.from, ` from message ${input.trainOn.from + 1} on`]
      : [0, ''];
  if (!assistants.some((index) => index >= from))
    throw noAnswer(`The conversation has no assistant message${since}`, 'Add the answer');
  const trained = trainedOf(assistants, weightsOf(input.messages), trainOn);
  if (trained.length === 0)
    throw noAnswer(`Every answer of the conversation${since} has weight 0`, 'Give one weight 1');
  const { tools, enableThinking } = input;
  const tokens: number[] = [];
  const mask: number[] = [];
  const append = (text: string, bit: number): void => {
    for (const id of format.encode(text)) {
      tokens.push(id);
      mask.push(bit);
    }
  };
  let written = '';
  for (const index of trained) {
    const turn = turnText(format, messages, index, { tools, enableThinking });
    append(added(written, turn.prompt), 0);
    append(turn.answer, 1);
    written = turn.prompt + turn.answer;
  }
  const promptLength = mask.indexOf(1);
  return { tokens, promptLength, actionMask: mask.slice(promptLength) };
}

const noAnswer = (fault: string, fix: string): TaskError =>
  new TaskError(`${fault}, so there is nothing to learn from. ${fix}.`, {
    code: 'CONVERSATION_NO_ANSWER',
  });

type Weight = ChatMessage['weight'];

/** Converts the index in `trainOn` to an index into the normalized messages. */
function placeIn({ messages, trainOn }: ConversationInput): ConversationInput['trainOn'] {
  if (typeof trainOn !== 'object') return trainOn;
  const { from } = trainOn;
  // The message at `from` may be the end of an answer that begins before it.
  const upTo = normalizeMessages(messages.slice(0, from + 1)).length;
  return { from: from < messages.length ? upTo - 1 : upTo };
}

function trainedOf(
  assistants: readonly number[],
  weights: readonly Weight[],
  trainOn: ConversationInput['trainOn'] = 'last',
): readonly number[] {
  if (typeof trainOn === 'object')
    return assistants.filter((index) => index >= trainOn.from && weights[index] !== 0);
  const last = assistants.at(-1);
  return assistants.filter((index) => weights[index] ?? (trainOn === 'all' || index === last));
}

/**
 * Returns the weight of each normalized message. Adjacent assistant messages are one normalized
 * message, so they must have the same weight.
 */
function weightsOf(messages: readonly ChatMessage[]): readonly Weight[] {
  const weights: Weight[] = [];
  messages.forEach(({ role, weight }, i) => {
    if (i === 0 || role !== 'assistant' || messages[i - 1]?.role !== 'assistant')
      weights.push(weight);
    else if (weights.at(-1) !== weight)
      throw new TaskError(
        `Messages ${i} and ${i + 1} are one answer of the assistant, with the weights ${weights.at(-1) ?? 'none'} and ${weight ?? 'none'}. Give both the same.`,
        { code: 'CONVERSATION_WEIGHTS' },
      );
  });
  return weights;
}

/**
 * Returns the prompt for message `index`, and the text of the message up to and including its stop
 * token.
 */
function turnText(
  format: ChatFormat,
  messages: readonly NormalMessage[],
  index: number,
  rest: Omit<PromptInput, 'messages'>,
): { readonly prompt: string; readonly answer: string } {
  const prompt = format.render({ ...rest, messages: messages.slice(0, index) });
  const whole = format.renderWhole({ ...rest, messages: messages.slice(0, index + 1) });
  const rendered = added(prompt, whole);
  const ends = format.stopTokenIds.flatMap((id) => {
    const stop = format.tokenizer.decode([id]);
    const at = stop === '' ? -1 : rendered.lastIndexOf(stop);
    return at < 0 ? [] : [at + stop.length];
  });
  return { prompt, answer: ends.length > 0 ? rendered.slice(0, Math.max(...ends)) : rendered };
}

/**
 * Returns the part of `whole` that follows `before`.
 * @throws TaskError if `whole` does not begin with `before`
 */
function added(before: string, whole: string): string {
  if (whole.startsWith(before)) return whole.slice(before.length);
  throw new TaskError(
    'The chat template changes earlier text when a message is added (it may drop earlier reasoning), so this conversation cannot be one training sequence. Split it into one row per answer.',
    { code: 'CONVERSATION_REWRITTEN' },
  );
}
