/** Reads the answers of remote models, and rejects those that contain no response. */
import {
  type ChatResponse,
  ModelError,
  type ToolCall,
  unknownPolicyVersion,
} from '@trinity-rft/core';
import type { FinishReason } from '@trinity-rft/core/internal';
import { boundedText } from '@trinity-rft/core/support';
import { redacted, remoteName } from './remote-call.js';
import type { RemoteModelOptions } from './remote-call.js';

/** An object of which nothing is known. */
export type Fields = Readonly<Record<string, unknown>>;

/** Returns the fields of an object, and none of any other value. */
export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};

/** Maximum number of characters of an answer that an error message quotes. */
const longestQuote = 200;

/**
 * Returns the choices of a completion.
 * @throws ModelError that quotes the answer if it has no choices, as gateways answer with status 200
 * that a quota is used up
 */
export function readChoices(
  answer: unknown,
  options: RemoteModelOptions,
): readonly [Fields, ...Fields[]] {
  // Gemini's service puts an error into a list.
  const { choices, error } = fieldsOf(Array.isArray(answer) ? answer[0] : answer);
  if (Array.isArray(choices) && choices.length > 0)
    return choices.map(fieldsOf) as [Fields, ...Fields[]];
  rejectError(error, options);
  throw Array.isArray(choices)
    ? unusable('an empty list of choices', answer, options)
    : unusable('no choices (check base_url)', answer, options);
}

/** @throws ModelError that quotes the error of an answer or of a choice, if there is one */
function rejectError(error: unknown, options: RemoteModelOptions): void {
  // Some services send an empty error beside an answer.
  if (!error || Object.keys(Object(error)).length === 0) return;
  const { message = error, code } = fieldsOf(error);
  const status = typeof code === 'number' && code >= 400 && code < 600 ? code : 502;
  throw unusable('an error', message ?? error, options, status);
}

const finishReasons: Readonly<Record<string, FinishReason>> = {
  length: 'length',
  tool_calls: 'tool_calls',
};

/**
 * Returns the response of a choice, all but its temperature.
 * @throws ModelError that quotes the choice if it has an error, no message, or one in another format
 */
export function readResponse(
  choice: Fields,
  options: RemoteModelOptions,
): Omit<ChatResponse, 'temperature'> {
  const { message, finish_reason: reason, error } = choice;
  rejectError(error, options);
  if (typeof message !== 'object' || message === null)
    throw unusable('a choice without a message', choice, options);
  const { content, tool_calls: calls, ...fields } = fieldsOf(message);
  const reasoning = fields['reasoning_content'] ?? fields['reasoning'];
  const isText = typeof (content ?? '') === 'string';
  const parts = Array.isArray(content) ? content.map(fieldsOf) : undefined;
  if ((!isText && !parts) || !Array.isArray(calls ?? []))
    throw unusable('a message in another format', message, options);
  // Some models that reason answer with parts, and with their reasoning in one of them.
  const thought = textOf(
    parts?.flatMap(({ type, text, thinking = type === 'reasoning' && text }) => thinking),
  );
  return {
    responseText: textOf(content),
    reasoningText: typeof reasoning === 'string' ? reasoning : thought || undefined,
    toolCalls: ((calls ?? []) as readonly unknown[])
      .map(fieldsOf)
      // Mistral's service leaves out the type.
      .filter(({ type }) => (type ?? 'function') === 'function')
      .map((call) => readToolCall(call, options)),
    tokens: new Int32Array(),
    promptLength: 0,
    logprobs: new Float32Array(),
    finishReason: finishReasons[String(reason)] ?? 'stop',
    policyVersion: unknownPolicyVersion,
  };
}

function readToolCall(call: Fields, options: RemoteModelOptions): ToolCall {
  const { name, arguments: raw } = fieldsOf(call['function']);
  if (typeof name !== 'string') throw unusable('a tool call without a name', call, options);
  // Some gateways send the arguments as an object, and no id.
  const text = typeof raw === 'string' ? raw : JSON.stringify(raw ?? {});
  return { id: textOf(call['id']), type: 'function', function: { name, arguments: text } };
}

/**
 * Returns a text unchanged, joins the texts of a list of parts except those that are reasoning, and
 * returns '' for other values.
 */
export function textOf(content: unknown): string {
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
  const answers = parts.filter((part) => fieldsOf(part)['type'] !== 'reasoning');
  const texts = answers.map((part) => (typeof part === 'string' ? part : fieldsOf(part)['text']));
  return texts.filter((text) => typeof text === 'string').join('');
}

/** Returns an error that says what the model answered with, and quotes it without the API key. */
function unusable(
  what: string,
  answer: unknown,
  options: RemoteModelOptions,
  status = 502,
): ModelError {
  const text = typeof answer === 'string' ? answer : String(JSON.stringify(answer));
  const quote = boundedText(redacted(text, options), longestQuote).trim().replace(/\.$/, '');
  return new ModelError(`${remoteName(options)} answered with ${what}: ${quote}.`, {
    status,
    code: 'remote_error',
    retryable: status === 429 || status >= 500,
  });
}
