/**
 * Source of OpenAI's fine-tuning files (also used by Azure and Fireworks), TRL rows, and rows of an
 * earlier import.
 */
import type { ChatMessage } from '@trinity-rft/core';
import { unwrapped } from '../messages/json-text.js';
import { readMessages } from '../messages/read-messages.js';
import { readTools } from '../messages/tool-calls.js';
import { fault } from '../record/fault.js';
import { isJson, type Item, type Json, type Preference } from '../record/item.js';
import { has, messagesIn, readAnswer, readPrompt, withSystem, type Source } from './source.js';

export const openai: Source = {
  looksFor: 'messages; input and preferred_output; or chosen and rejected',
  detect: (record) =>
    has(record, 'messages') ||
    has(record, 'input', 'preferred_output') ||
    has(record, 'chosen', 'rejected'),
  read: readRow,
  hasReferences: true,
};

/** Columns that are not copied as additional columns of a task. */
const known: readonly string[] = ['messages', 'tools', 'functions', 'parallel_tool_calls'];

export function readRow(record: Json): readonly Item[] {
  if (has(record, 'preferred_output')) return [readPair(record)];
  if (has(record, 'chosen', 'rejected')) return [readChosen(record)];
  const given = readMessages(record['messages']);
  const messages = withSystem(record['system'], given);
  const read = messages === given ? known : [...known, 'system'];
  const fields = Object.fromEntries(Object.entries(record).filter(([key]) => !read.includes(key)));
  return [{ messages, ...toolsOf(record), fields }];
}

export function toolsOf(record: Json): Pick<Preference, 'tools'> {
  const tools = readTools(record['tools'] ?? record['functions']);
  return tools ? { tools } : {};
}

function readPair(record: Json): Preference {
  const input = unwrapped(record['input']);
  if (!isJson(input)) throw fault('input is not an object with messages', input);
  return {
    prompt: withSystem(input['system'], readMessages(input['messages'])),
    chosen: readAnswer(record['preferred_output']),
    rejected: readAnswer(record['non_preferred_output']),
    ...toolsOf(input),
  };
}

/**
 * Reads a pair in the format of TRL. `chosen` and `rejected` may start with the prompt; `prompt`
 * may then be missing.
 */
function readChosen(record: Json): Preference {
  const chosen = readAnswer(record['chosen']);
  const rejected = readAnswer(record['rejected']);
  const shared = sharedStart(chosen, rejected);
  const pair = {
    prompt: withSystem(record['system'], promptOf(record, chosen.slice(0, shared))),
    chosen: chosen.slice(shared),
    rejected: rejected.slice(shared),
  };
  if ([...pair.chosen, ...pair.rejected].some(({ role }) => role === 'user'))
    throw fault('the two answers are to different prompts');
  return { ...pair, ...toolsOf(record) };
}

/**
 * Returns the prompt of a pair, either from `prompt` or from the messages with which both responses
 * start, whichever is longer. Leading system messages are compared separately, because one of the
 * two may lack them. If `prompt` is a string that contains the start rendered with a template,
 * returns the start.
 */
function promptOf({ prompt }: Json, start: readonly ChatMessage[]): readonly ChatMessage[] {
  if (start.length > 0 && (prompt ?? '') === '') return start;
  const [[system, turns], [startSystem, startTurns]] = [split(readPrompt(prompt)), split(start)];
  const systems = longer(system, startSystem);
  const all = longer(turns, startTurns);
  const text = messagesIn(prompt);
  // A text is a user message of its own only if it does not hold the system messages.
  const holds = ({ content }: ChatMessage): boolean =>
    typeof text === 'string' && typeof content === 'string' && text.includes(content);
  const isTurn = startTurns.length > 0 || !startSystem.some(holds);
  if (systems && all && isTurn) return [...systems, ...all];
  if (typeof text === 'string' && startTurns.length > 0 && isRendered(text, start)) return start;
  throw fault('the prompt differs from the start of both answers', prompt);
}

/** Maximum mean number of characters that a chat template adds per message. */
const marksOfMessage = 100;

/** Returns true if a text contains all messages in order, and little else. */
function isRendered(text: string, messages: readonly ChatMessage[]): boolean {
  let rest = 0;
  let end = 0;
  for (const { content } of messages) {
    const own = typeof content === 'string' ? content.trim() : '';
    const at = text.indexOf(own, end);
    if (at < 0) return false;
    rest += at - end;
    end = at + own.length;
  }
  return rest + text.length - end <= marksOfMessage * (messages.length + 1);
}

/** Splits a conversation after its leading system and developer messages. */
function split(
  messages: readonly ChatMessage[],
): readonly [readonly ChatMessage[], readonly ChatMessage[]] {
  const first = messages.findIndex(({ role }) => !['system', 'developer'].includes(role));
  const end = first < 0 ? messages.length : first;
  return [messages.slice(0, end), messages.slice(end)];
}

/**
 * Returns `start` if it begins or ends with `prompt`, `prompt` if it ends with `start`, and
 * undefined otherwise.
 */
function longer(
  prompt: readonly ChatMessage[],
  start: readonly ChatMessage[],
): readonly ChatMessage[] | undefined {
  const [given, found] = [linesOf(prompt), linesOf(start)];
  if (found.endsWith(given) || found.startsWith(given)) return start;
  return given.endsWith(found) ? prompt : undefined;
}

/**
 * Returns one line per message, for comparison. Ignores white space at the start and end of
 * strings.
 */
const linesOf = (messages: readonly ChatMessage[]): string =>
  messages
    .map((message) => `\n${JSON.stringify(message, (_, value: unknown) => trimmed(value))}`)
    .join('');

const trimmed = (value: unknown): unknown => (typeof value === 'string' ? value.trim() : value);

/**
 * Returns the number of messages at the start that both responses share; 0 if `chosen` starts with
 * the response.
 */
function sharedStart(chosen: readonly ChatMessage[], rejected: readonly ChatMessage[]): number {
  if (chosen[0]?.role === 'assistant') return 0;
  const most = Math.min(chosen.length, rejected.length) - 1;
  const differs = chosen
    .slice(0, most)
    .findIndex((message, i) => JSON.stringify(message) !== JSON.stringify(rejected[i]));
  return differs < 0 ? most : differs;
}
