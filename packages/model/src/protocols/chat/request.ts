/** Chat completion requests: what of a client's JSON is used, ignored or refused. */
import type { CallSampling } from '../../rollout/sampling.js';
import { formatInstruction, readAnswerFormat } from '../shared/request/response-format.js';
import {
  flag,
  given,
  integer,
  isRecord,
  list,
  number,
  record,
  refuseUnavailable,
  stopStrings,
  type Body,
  type Unavailable,
} from '../shared/request/fields.js';
import { withInstructions } from '../shared/request/prompt-instructions.js';
import { quote, refusal } from '../shared/request/invalid-request.js';
import { readToolChoice, toolChoiceInstruction } from '../shared/request/tool-choice.js';
import { checkToolResults } from './tool-results.js';
import { formOf, type WantedForm } from '../shared/request/wanted-form.js';

/** A request as far as it matters here. Fields that are not named in this file are ignored. */
export interface ChatCompletionRequest {
  /** With what the endpoint tells the model. */
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
  /** Names of fields that ask for constrained decoding. */
  readonly formFields: readonly string[];
  /** What they ask for. */
  readonly form?: WantedForm;
}

/** OpenAI's own limits. */
export const mostChoices = 128;
const mostTopLogprobs = 20;

/** @throws ModelError 400 naming the field that is wrong or not available */
export function readRequest(value: unknown): ChatCompletionRequest {
  if (!isRecord(value)) throw refusal('body', `is ${quote(value)}`, 'a chat completion request');
  refuseUnavailable(value, unavailable);
  const messages = list(value, 'messages') ?? [];
  const tools = list(value, 'tools') ?? [];
  const choice = readToolChoice(value['tool_choice'], toolNames(tools), 'tool_choice');
  const format = readAnswerFormat(value['response_format'], 'response_format');
  const forced = toolChoiceInstruction(choice);
  checkToolResults(messages);
  const told = [format && formatInstruction(format, tools.length > 0 && choice !== 'none'), forced];
  return {
    messages: withInstructions(messages, told),
    tools,
    parseTools: choice !== 'none',
    n: integer(value, 'n', 1, mostChoices) ?? 1,
    ...lowest(integer(value, 'max_tokens'), integer(value, 'max_completion_tokens')),
    stop: stopStrings(value['stop']),
    logprobs: flag(value, 'logprobs'),
    topLogprobs: integer(value, 'top_logprobs', 0, mostTopLogprobs) ?? 0,
    stream: flag(value, 'stream'),
    includeUsage: flag(record(value, 'stream_options'), 'include_usage'),
    returnTokenIds: flag(value, 'return_token_ids'),
    ...readSampling(value),
    ...formOf(choice, format, ['tool_choice', 'response_format']),
  };
}

/** A client's sampling settings, and the names of all it gave. @throws ModelError 400 */
export function readSampling(
  body: Body,
): Pick<ChatCompletionRequest, 'sampling' | 'samplingFields'> {
  return {
    sampling: {
      ...number(body, 'temperature', 'temperature'),
      ...number(body, 'top_p', 'topP'),
      ...number(body, 'top_k', 'topK'),
    },
    samplingFields: samplingFields.filter((name) => given(body[name])),
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

const unavailable: readonly Unavailable[] = [
  ['functions', (value) => Array.isArray(value) && value.length > 0, 'tools instead'],
  ['audio', given, 'text output'],
  [
    'modalities',
    (value) => Array.isArray(value) && value.some((kind) => kind !== 'text'),
    'text only',
  ],
  ['web_search_options', given, 'tools of your own'],
];

function lowest(...limits: readonly (number | undefined)[]): { readonly maxTokens?: number } {
  const known = limits.filter((limit) => limit !== undefined);
  return known.length > 0 ? { maxTokens: Math.min(...known) } : {};
}

/** Names as far as they are names; what is wrong with a tool is said where tools are read. */
function toolNames(tools: readonly unknown[]): readonly string[] {
  const functions = tools.flatMap((tool) =>
    isRecord(tool) && isRecord(tool['function']) ? [tool['function']['name']] : [],
  );
  return functions.filter((name) => typeof name === 'string');
}
