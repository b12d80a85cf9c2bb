/** Text completion requests: what of a client's JSON is used, ignored or refused. */
import {
  flag,
  given,
  integer,
  isRecord,
  record,
  refuseUnavailable,
  stopStrings,
  type Body,
  type Unavailable,
} from '../shared/request/fields.js';
import { quote, refusal } from '../shared/request/invalid-request.js';
import { mostChoices, readSampling, type ChatCompletionRequest } from '../chat/request.js';

/** A request as far as it matters here. Fields that are not named in this file are ignored. */
export interface TextCompletionRequest extends Pick<
  ChatCompletionRequest,
  | 'n'
  | 'maxTokens'
  | 'stop'
  | 'stream'
  | 'includeUsage'
  | 'returnTokenIds'
  | 'sampling'
  | 'samplingFields'
> {
  readonly prompt: string | Int32Array;
  /** Alternatives per token; undefined for no log-probabilities at all. */
  readonly logprobs?: number;
}

const mostLogprobs = 20;

/** @throws ModelError 400 naming the field that is wrong or not available */
export function readRequest(value: unknown, vocabularySize: number): TextCompletionRequest {
  if (!isRecord(value)) throw refusal('body', `is ${quote(value)}`, 'a completion request');
  refuseUnavailable(value, unavailable);
  const maxTokens = integer(value, 'max_tokens');
  const logprobs = integer(value, 'logprobs', 0, mostLogprobs);
  return {
    prompt: readPrompt(value['prompt'], vocabularySize),
    n: integer(value, 'n', 1, mostChoices) ?? 1,
    ...(maxTokens !== undefined && { maxTokens }),
    stop: stopStrings(value['stop']),
    ...(logprobs !== undefined && { logprobs }),
    stream: flag(value, 'stream'),
    includeUsage: flag(record(value, 'stream_options'), 'include_usage'),
    returnTokenIds: flag(value, 'return_token_ids'),
    ...readSampling(value as Body),
  };
}

const unavailable: readonly Unavailable[] = [
  ['echo', (value) => given(value) && value !== false, 'false: the prompt is not repeated'],
  ['suffix', (value) => given(value) && value !== '', 'no suffix: text is only continued'],
  [
    'best_of',
    (value) => given(value) && value !== 1,
    '1: every choice that is sampled is recorded and returned',
  ],
];

/** One prompt: text, a list of one text, token ids, or a list of one list of them. */
function readPrompt(value: unknown, vocabularySize: number): string | Int32Array {
  if (!given(value)) throw refusal('prompt', 'is missing', 'text or token ids');
  if (typeof value === 'string') return filled(value);
  if (!Array.isArray(value)) throw refusal('prompt', `is ${quote(value)}`, 'text or token ids');
  const items = value as readonly unknown[];
  if (typeof items[0] !== 'string' && !Array.isArray(items[0]))
    return ids(items, 'prompt', vocabularySize);
  if (items.length > 1)
    throw refusal(
      'prompt',
      `has ${items.length} prompts`,
      'one prompt per call, so that calls and records match',
    );
  return typeof items[0] === 'string'
    ? filled(items[0])
    : ids(items[0] as readonly unknown[], 'prompt[0]', vocabularySize);
}

function filled(text: string): string {
  if (text === '') throw refusal('prompt', 'is empty', 'at least one token');
  return text;
}

function ids(items: readonly unknown[], path: string, vocabularySize: number): Int32Array {
  if (items.length === 0) throw refusal(path, 'is empty', 'at least one token');
  return Int32Array.from(items, (id, i) => {
    if (Number.isInteger(id) && (id as number) >= 0 && (id as number) < vocabularySize)
      return id as number;
    throw refusal(`${path}[${i}]`, `is ${quote(id)}`, `a token id below ${vocabularySize}`);
  });
}
