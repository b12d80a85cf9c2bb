/** Interface of a source (an input format), and functions that several sources share. */
import type { ChatMessage } from '@trinity-rft/core';
import { unwrapped } from '../messages/json-text.js';
import { readMessage, readMessages } from '../messages/read-messages.js';
import { fault } from '../record/fault.js';
import type { RowKind } from '../record/row-kind.js';
import {
  isJson,
  isPresent,
  type Conversation,
  type Finished,
  type Item,
  type Json,
  type Preference,
  type Score,
} from '../record/item.js';

/** A conversation, or the reason why there is none, and the part of the group that it comes from. */
export interface Assembled {
  readonly item: Finished;
  readonly part: unknown;
}

export interface Source {
  /** Noun phrase shown after "looks for records with". */
  readonly looksFor: string;
  /** Returns true if a record has the format of this source. */
  readonly detect: (record: Json) => boolean;
  /**
   * Extracts the items of a record.
   * @throws TaskError from `fault` if nothing in the record can be imported
   */
  readonly read: (record: Json) => readonly Item[];
  /**
   * Builds conversations from the parts of one group.
   * @param kind kind of the rows, or undefined if no item has been read that determines it
   */
  readonly assemble?: (parts: readonly unknown[], kind?: RowKind) => readonly Assembled[];
  /**
   * Maximum number of open groups. When there are more, the group that was extended least recently
   * counts as complete.
   * @default no limit, because parts may be in other files
   */
  readonly mostOpen?: number;
  /** True if the last message of a conversation is a reference answer instead of a model output. */
  readonly hasReferences?: boolean;
}

export const has = (record: Json, ...keys: readonly string[]): boolean =>
  keys.every((key) => isPresent(record[key]));

const user = (content: string): ChatMessage => ({ role: 'user', content });

/**
 * Puts the instructions that a record stores beside its messages, a string or a list of parts, before
 * the messages, unless these start with instructions.
 */
export function withSystem(
  system: unknown,
  messages: readonly ChatMessage[],
): readonly ChatMessage[] {
  if (!isFilled(system) || ['system', 'developer'].includes(messages[0]?.role ?? ''))
    return messages;
  if (typeof system !== 'string' && !Array.isArray(system))
    throw fault('system is neither a text nor parts', system);
  return [...readMessage({ role: 'system', content: system }), ...messages];
}

/** Returns false for a missing value, `false`, a blank string, an empty list and an empty object. */
function isFilled(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isPresent);
  if (isJson(value)) return Object.keys(value).length > 0;
  return isPresent(value) && value !== false && (typeof value !== 'string' || value.trim() !== '');
}

const mediaColumn = /^(?:image|video|audio)s?$/;
const noMedia = /^\s*(?:none|null|false|nan)?\s*$/i;

/**
 * Returns true for a text, an object with one, and a list of such values or of numbers, which are
 * samples or pixels; false for the ways in which data sets write that there is none, and for counts.
 */
function isMedia(value: unknown): boolean {
  const given = unwrapped(value);
  if (Array.isArray(given)) return given.some((one) => typeof one === 'number' || isMedia(one));
  if (isJson(given)) return Object.values(given).some(isMedia);
  return typeof given === 'string' && !noMedia.test(given);
}

/** Matches answers that are the class false. Beside one, `label: false` is that class too. */
const negative = /^\W*(?:false|no)\W*$/i;

/**
 * Adds what the columns beside a conversation or pair say: which one holds images, videos or sounds;
 * and whether the answer is a good one, by LLaMA-Factory's `kto_tag` or by TRL's `label`, which is
 * true or false beside messages or a completion.
 */
export function withMarks<T extends Conversation | Preference>(item: T, record: Json): T {
  const media = Object.keys(record).find((key) => mediaColumn.test(key) && isMedia(record[key]));
  const marked = { ...item, ...(media !== undefined && { media }) };
  const last = 'messages' in item ? item.messages.at(-1) : undefined;
  if (last?.role !== 'assistant') return marked;
  const { label, kto_tag: tag } = record;
  const isMark =
    typeof label === 'boolean' && (has(record, 'completion') || has(record, 'messages'));
  const isClass = label === false && negative.test(JSON.stringify(last.content));
  const value = scoreOf(tag ?? (isMark && !isClass ? label : undefined));
  return value === undefined
    ? marked
    : { ...marked, scores: [{ name: 'label', value }], isRejected: value === 0 };
}

/** Keys that may wrap a prompt in an object with no other keys. */
const promptKeys: ReadonlySet<string> = new Set(['prompt', 'question', 'input', 'query', 'text']);

/**
 * Reads a prompt, which is a string, a list of messages, a message, or an object that wraps one of
 * these.
 */
export function readPrompt(value: unknown): readonly ChatMessage[] {
  const prompt = messagesIn(value);
  if (prompt === '') throw fault('the prompt is empty');
  if (typeof prompt === 'string') return [user(prompt)];
  if (Array.isArray(prompt)) return readMessages(batchOfOne(prompt));
  if (!isJson(prompt)) throw fault('the prompt is neither a text nor messages', prompt);
  if ('role' in prompt) return readMessage(prompt);
  if (isPresent(prompt['messages']))
    return withSystem(prompt['system'], readPrompt(prompt['messages']));
  const [key = '', other] = Object.keys(prompt);
  if (other !== undefined || !promptKeys.has(key))
    throw fault('the prompt is an object without messages', Object.keys(prompt));
  return readPrompt(prompt[key]);
}

/** Keys that occur only in messages, in choices and in objects that wrap conversations. */
const wrapperKeys = ['role', 'messages', 'choices', 'generations', 'kwargs', 'finish_reason'];

/**
 * Parses a value that is a JSON string of messages, and returns any other value unchanged. Other
 * JSON strings are not parsed, because a model may have written them.
 */
export function messagesIn(value: unknown): unknown {
  const inner = unwrapped(value);
  const first: unknown = Array.isArray(inner) ? inner[0] : inner;
  return isJson(first) && wrapperKeys.some((key) => key in first) ? inner : value;
}

/** Unwraps a prompt from LangChain's list of prompts, if it contains one prompt. */
function batchOfOne(prompt: readonly unknown[]): unknown {
  return prompt.length === 1 && Array.isArray(prompt[0]) ? prompt[0] : prompt;
}

/** Keys that show that an object is a message: they contain its author, or wrap the message. */
const roleKeys = ['role', 'from', 'kwargs', 'data'];
/** Keys of a message that calls tools, which may also occur in an object that wraps a message. */
const callKeys = ['function_call', 'additional_kwargs'];
/** Keys that contain a response or its text, whichever other keys the object has. */
const answerKeys = ['message', 'content', 'text'];
/** Keys that may wrap a response in an object with no other keys. */
const onlyAnswerKeys: ReadonlySet<string> = new Set(['output', 'answer', 'response', 'completion']);

/** Reads a response: a string, a message, messages, or an object that contains one of these. */
export function readAnswer(value: unknown): readonly ChatMessage[] {
  const answer = messagesIn(value);
  if (answer === '') throw fault('the answer is empty');
  if (typeof answer === 'string') return [{ role: 'assistant', content: answer }];
  if (Array.isArray(answer))
    return isJson(answer[0]) && isJson(answer[0]['message'])
      ? readAnswer(onlyOne(answer))
      : answeredBy(readMessages(answer));
  if (!isJson(answer)) throw fault('the answer is neither a text nor a message', answer);
  if (roleKeys.some((key) => key in answer)) return answeredBy(readMessage(answer));
  const asMessage = () => answeredBy(readMessage({ role: 'assistant', ...answer }));
  if ('tool_calls' in answer) return asMessage();
  const { messages, choices, generations } = answer;
  if (isPresent(messages)) return readAnswer(messages);
  const list = [choices, generations].find(Array.isArray) as readonly unknown[] | undefined;
  if (list) return readAnswer(onlyOne(list));
  const known = answerKeys.find((name) => isPresent(answer[name]));
  const isMessage = known === undefined || known === 'content';
  if (isMessage && callKeys.some((name) => name in answer)) return asMessage();
  const [first = '', other] = Object.keys(answer);
  const key = known ?? (other === undefined && onlyAnswerKeys.has(first) ? first : undefined);
  if (key === undefined) throw fault('the answer is an object without a text', Object.keys(answer));
  return readAnswer(answer[key]);
}

/**
 * Reads the response of one call of a model.
 * @throws TaskError if the call has several responses, because they would become one conversation
 */
export function readOutput(value: unknown): readonly ChatMessage[] {
  const messages = readAnswer(value);
  const isList = messages.length > 1 && messages.every(({ role }) => role === 'assistant');
  if (isList) throw fault(severalAnswers, messages.length);
  return messages;
}

const severalAnswers = 'one call has several answers';

/**
 * Returns the only item of a list.
 * @throws TaskError if a call has several responses, because they would share one score
 */
function onlyOne(list: readonly unknown[]): unknown {
  const [only, other] = list.flat();
  if (other !== undefined) throw fault(severalAnswers, list.length);
  return only;
}

function answeredBy(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (messages.at(-1)?.role !== 'assistant')
    throw fault("the last message of the answer is not the assistant's", messages.at(-1)?.role);
  return messages;
}

/**
 * Returns a number as it is, and a boolean as 1 or 0. Also converts strings of these. Returns
 * undefined for other values.
 */
function scoreOf(value: unknown): number | undefined {
  const given = typeof value === 'string' ? value.trim().toLowerCase() : value;
  if (given === true || given === 'true') return 1;
  if (given === false || given === 'false') return 0;
  const score = typeof given === 'string' && given !== '' ? Number(given) : given;
  return Number.isFinite(score) ? (score as number) : undefined;
}

/** Returns the scores with these names and values. Ignores values that are not scores. */
export function readScores(
  entries: readonly (readonly [name: string, value: unknown])[],
): readonly Score[] {
  return entries.flatMap(([name, given]) => {
    const value = scoreOf(given);
    return value === undefined ? [] : [{ name, value }];
  });
}

/** Adds scores to those of a conversation. */
export function withScores(item: Conversation, scores: readonly Score[]): Conversation {
  const all = [...(item.scores ?? []), ...scores];
  return all.length === 0 ? item : { ...item, scores: all };
}

/**
 * Drops parts whose conversation is the beginning of another one. Each call of an agent repeats the
 * history, so training on all calls would repeat the first turns. The comparison ignores the ids of
 * tool calls and how their arguments are spelled, and treats missing content like an empty string,
 * because a repeated history may differ in these.
 */
export function dropPrefixes<T extends { readonly conversation: Conversation }>(
  parts: readonly T[],
): readonly T[] {
  const texts = parts.map(({ conversation }) =>
    conversation.messages.map(({ role, content, tool_calls: calls }) =>
      JSON.stringify([
        role,
        content ?? '',
        calls?.map(({ function: called }) => [called.name, unwrapped(called.arguments)]),
      ]),
    ),
  );
  return parts.filter((_, i) => {
    const own = texts[i]!;
    return !texts.some(
      (other) => other.length > own.length && own.every((text, at) => text === other[at]),
    );
  });
}
