/**
 * Reads text completion requests, and decides which fields of a client's JSON are used, ignored or
 * rejected.
 */
import { invalidRequest, quote } from '@trinity-rft/chat/internal';
import type { EndpointPolicy } from '../shared/endpoint-policy.js';
import {
  flag,
  integer,
  isObject,
  isPresent,
  object,
  rejectUnsupported,
  stopStrings,
  type UnsupportedField,
} from '../shared/request/fields.js';
import {
  maxChoices,
  maxTopLogprobs,
  readSampling,
  type RequestedSampling,
} from '../shared/request/sampling-fields.js';
import { checkFields } from '../shared/request/strict-fields.js';

/** Fields of a text completion request that are used. Other fields are ignored or rejected. */
export interface TextCompletionRequest extends RequestedSampling {
  readonly prompt: string | Int32Array;
  readonly n: number;
  readonly maxTokens?: number;
  readonly stop: readonly string[];
  /** Number of alternatives per token; undefined if no log-probabilities are requested. */
  readonly logprobs?: number;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /**
   * True to include the token ids of prompt and completion in the response, an extension of vLLM.
   */
  readonly returnTokenIds: boolean;
}

const usedFields: ReadonlySet<string> = new Set([
  'prompt',
  'n',
  'max_tokens',
  'stop',
  'temperature',
  'top_p',
  'top_k',
  'seed',
  'logprobs',
  'return_token_ids',
  'stream',
  'stream_options',
  'echo',
  'suffix',
  'best_of',
]);

/**
 * Reads a text completion request.
 * @throws ModelError 400 naming the field that is invalid or not supported
 */
export function readRequest(
  body: unknown,
  vocabularySize: number,
  policy: EndpointPolicy,
): TextCompletionRequest {
  if (!isObject(body)) throw invalidRequest('body', `is ${quote(body)}`, 'a completion request');
  rejectUnsupported(body, unsupported);
  checkFields(body, usedFields, policy);
  return {
    prompt: readPrompt(body['prompt'], vocabularySize),
    n: integer(body, 'n', 1, maxChoices) ?? 1,
    maxTokens: integer(body, 'max_tokens'),
    stop: stopStrings(body, 'stop'),
    logprobs: integer(body, 'logprobs', 0, maxTopLogprobs),
    stream: flag(body, 'stream'),
    includeUsage: flag(object(body, 'stream_options'), 'include_usage'),
    returnTokenIds: flag(body, 'return_token_ids'),
    ...readSampling(body),
  };
}

const unsupported: readonly UnsupportedField[] = [
  ['echo', (value) => isPresent(value) && value !== false, 'false: the prompt is not repeated'],
  ['suffix', (value) => isPresent(value) && value !== '', 'no suffix: text is only continued'],
  [
    'best_of',
    (value) => isPresent(value) && value !== 1,
    '1: every sampled choice is recorded and returned',
  ],
];

/**
 * Reads one prompt: a string, a list of one string, token ids, or a list of one list of token ids.
 */
function readPrompt(value: unknown, vocabularySize: number): string | Int32Array {
  if (!isPresent(value)) throw invalidRequest('prompt', 'is missing', 'text or token ids');
  if (typeof value === 'string') return notEmpty(value);
  if (!Array.isArray(value))
    throw invalidRequest('prompt', `is ${quote(value)}`, 'text or token ids');
  const items = value as readonly unknown[];
  const [first] = items;
  if (typeof first !== 'string' && !Array.isArray(first))
    return readIds(items, 'prompt', vocabularySize);
  if (items.length > 1)
    throw invalidRequest(
      'prompt',
      `has ${items.length} prompts`,
      'one prompt per call, so that calls and records match',
    );
  return typeof first === 'string'
    ? notEmpty(first)
    : readIds(first as readonly unknown[], 'prompt[0]', vocabularySize);
}

function notEmpty(text: string): string {
  if (text === '') throw invalidRequest('prompt', 'is empty', 'at least one token');
  return text;
}

function readIds(items: readonly unknown[], path: string, vocabularySize: number): Int32Array {
  if (items.length === 0) throw invalidRequest(path, 'is empty', 'at least one token');
  return Int32Array.from(items, (id, i) => {
    if (Number.isInteger(id) && (id as number) >= 0 && (id as number) < vocabularySize)
      return id as number;
    throw invalidRequest(`${path}[${i}]`, `is ${quote(id)}`, `a token id below ${vocabularySize}`);
  });
}
