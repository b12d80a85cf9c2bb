/** Chat completion requests: what of a client's JSON is used, ignored or refused. */
import { ModelError } from '@trinity-rft/core';
import type { CallSampling } from '../sampling.js';

/** A request as far as it matters here. Fields that are not named in this file are ignored. */
export interface ChatCompletionRequest {
  readonly messages: readonly unknown[];
  readonly tools: readonly unknown[];
  /** False for `tool_choice: "none"`. */
  readonly parseTools: boolean;
  readonly n: number;
  /** The lower of `max_tokens` and `max_completion_tokens`. */
  readonly maxTokens?: number;
  readonly stop: readonly string[];
  readonly logprobs: boolean;
  readonly topLogprobs: number;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** An extension of vLLM: prompt and response ids in the answer. */
  readonly returnTokenIds: boolean;
  /** The client's wishes, under our names. */
  readonly sampling: Pick<CallSampling, 'temperature' | 'topP' | 'topK'>;
  /** Names of all sampling settings the client gave. */
  readonly samplingFields: readonly string[];
  /** Names of fields that ask for constrained decoding; nothing is constrained, because that would change the log-probabilities. */
  readonly unconstrained: readonly string[];
}

type Body = Readonly<Record<string, unknown>>;

/** @throws ModelError 400 naming the field that is wrong or not available */
export function readRequest(value: unknown): ChatCompletionRequest {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refusal('body', 'is not a JSON object', 'a chat completion request');
  const body = value as Body;
  refuseUnavailable(body);
  const maxTokens = [integer(body, 'max_tokens'), integer(body, 'max_completion_tokens')].filter((count) => count !== undefined);
  return {
    messages: list(body, 'messages') ?? [],
    tools: list(body, 'tools') ?? [],
    parseTools: body['tool_choice'] !== 'none',
    n: integer(body, 'n') ?? 1,
    ...(maxTokens.length > 0 && { maxTokens: Math.min(...maxTokens) }),
    stop: stopStrings(body['stop']),
    logprobs: body['logprobs'] === true,
    topLogprobs: integer(body, 'top_logprobs', 0) ?? 0,
    stream: body['stream'] === true,
    includeUsage: (body['stream_options'] as Body | null | undefined)?.['include_usage'] === true,
    returnTokenIds: body['return_token_ids'] === true,
    sampling: {
      ...number(body, 'temperature', 'temperature'),
      ...number(body, 'top_p', 'topP'),
      ...number(body, 'top_k', 'topK'),
    },
    samplingFields: samplingFields.filter((name) => given(body[name])),
    unconstrained: unconstrained(body),
  };
}

const samplingFields = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'repetition_penalty',
  'logit_bias',
];

const given = (value: unknown): boolean => value !== undefined && value !== null;

/** Field, when it asks for something that is not available, and what to do. */
const unavailable: readonly [field: string, asked: (value: unknown) => boolean, expected: string][] = [
  ['functions', (value) => Array.isArray(value) && value.length > 0, 'tools instead'],
  ['audio', given, 'text output'],
  ['modalities', (value) => Array.isArray(value) && value.some((kind) => kind !== 'text'), 'text only'],
  ['web_search_options', given, 'tools of your own'],
  [
    'response_format',
    (value) => (value as Body | null | undefined)?.['type'] === 'json_schema',
    'type text or json_object: decoding is not constrained, because that would change the log-probabilities that are trained on',
  ],
];

function refuseUnavailable(body: Body): void {
  const found = unavailable.find(([field, asked]) => asked(body[field]));
  if (found) throw refusal(found[0], 'asks for something this endpoint does not have', found[2]);
}

function unconstrained(body: Body): readonly string[] {
  const choice = body['tool_choice'];
  const format = (body['response_format'] as Body | null | undefined)?.['type'];
  return [
    ...(given(choice) && choice !== 'auto' && choice !== 'none' ? ['tool_choice'] : []),
    ...(given(format) && format !== 'text' ? ['response_format'] : []),
  ];
}

function list(body: Body, field: string): readonly unknown[] | undefined {
  const value = body[field];
  if (!given(value)) return undefined;
  if (!Array.isArray(value)) throw refusal(field, `is ${JSON.stringify(value)}`, 'a list');
  return value;
}

function integer(body: Body, field: string, least = 1): number | undefined {
  const value = body[field];
  if (!given(value)) return undefined;
  if (!Number.isInteger(value) || (value as number) < least)
    throw refusal(field, `is ${JSON.stringify(value)}`, `an integer of at least ${least}`);
  return value as number;
}

function number<K extends string>(body: Body, field: string, name: K): { readonly [key in K]?: number } {
  const value = body[field];
  if (!given(value)) return {};
  if (typeof value !== 'number') throw refusal(field, `is ${JSON.stringify(value)}`, 'a number');
  return { [name]: value } as { readonly [key in K]?: number };
}

function stopStrings(value: unknown): readonly string[] {
  const strings = given(value) ? [value].flat() : [];
  const bad = strings.find((string) => typeof string !== 'string' || string === '');
  if (bad !== undefined) throw refusal('stop', `holds ${JSON.stringify(bad)}`, 'a string that is not empty, or a list of them');
  return strings as readonly string[];
}

function refusal(param: string, what: string, expected: string): ModelError {
  return new ModelError(`${param} ${what}. Expected ${expected}.`, { status: 400, code: 'invalid_request', details: { param } });
}
