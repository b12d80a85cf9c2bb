/** Responses requests: what of a client's JSON is used, ignored or refused. */
import type { CallSampling } from '../../rollout/sampling.js';
import { readAnswerFormat, type AnswerFormat } from '../shared/request/response-format.js';
import {
  flag,
  given,
  integer,
  isRecord,
  list,
  record,
  refuseUnavailable,
  type Body,
  type Unavailable,
} from '../shared/request/fields.js';
import { quote, refusal } from '../shared/request/invalid-request.js';
import { readSampling } from '../chat/request.js';
import { readToolChoice, type ToolChoice } from '../shared/request/tool-choice.js';
import { formOf, type WantedForm } from '../shared/request/wanted-form.js';

/** A request as far as it matters here. Fields that are not named in this file are ignored. */
export interface ResponsesRequest {
  /** The items are not read yet. */
  readonly input: string | readonly unknown[];
  readonly instructions?: string;
  readonly previousResponseId?: string;
  /** In the form of chat completions. */
  readonly tools: readonly unknown[];
  readonly toolChoice: ToolChoice;
  readonly maxTokens?: number;
  /**
   * Present when log-probabilities are wanted in the answer; how many alternatives to show for each
   * token.
   */
  readonly topLogprobs?: number;
  readonly stream: boolean;
  /** Whether the response can be referred to later. */
  readonly store: boolean;
  /** Reasoning items carry `encrypted_content`. */
  readonly sealReasoning: boolean;
  /** The client's wishes, under our names. */
  readonly sampling: Pick<CallSampling, 'temperature' | 'topP' | 'topK'>;
  /** Names of all sampling settings the client gave. */
  readonly samplingFields: readonly string[];
  /** Names of fields that ask for constrained decoding. */
  readonly formFields: readonly string[];
  /** What they ask for. */
  readonly form?: WantedForm;
  /** `text.format` where it asks for JSON. */
  readonly format?: AnswerFormat;
  /** As the client sent it. */
  readonly body: Body;
}

/** OpenAI's own limit. */
const mostTopLogprobs = 20;

/** @throws ModelError 400 naming the field that is wrong or not available */
export function readRequest(body: unknown): ResponsesRequest {
  if (!isRecord(body)) throw refusal('body', 'is not a JSON object', 'a Responses request');
  refuseUnavailable(body, unavailable);
  // They come back in the answer.
  for (const name of ['metadata', 'reasoning']) record(body, name);
  flag(body, 'parallel_tool_calls');
  const instructions = string(body, 'instructions');
  const previousResponseId = string(body, 'previous_response_id');
  const maxTokens = integer(body, 'max_output_tokens');
  const tools = (list(body, 'tools') ?? []).map(readTool);
  const include = list(body, 'include') ?? [];
  const store = !given(body['store']) || flag(body, 'store');
  const toolChoice = readChoice(body['tool_choice'], tools);
  const format = readAnswerFormat(record(body, 'text')['format'], 'text.format');
  return {
    input: readInputField(body, previousResponseId !== undefined),
    ...(instructions !== undefined && { instructions }),
    ...(previousResponseId !== undefined && { previousResponseId }),
    tools,
    toolChoice,
    ...(maxTokens !== undefined && { maxTokens }),
    ...(include.includes('message.output_text.logprobs') && {
      topLogprobs: integer(body, 'top_logprobs', 0, mostTopLogprobs) ?? 0,
    }),
    stream: flag(body, 'stream'),
    store,
    sealReasoning: !store || include.includes('reasoning.encrypted_content'),
    ...readSampling(body),
    ...formOf(toolChoice, format, ['tool_choice', 'text.format']),
    ...(format && { format }),
    body,
  };
}

const unavailable: readonly Unavailable[] = [
  ['background', (value) => value === true, 'false: the answer comes with the call'],
  ['conversation', given, 'previous_response_id, or the whole conversation as input'],
  ['prompt', given, 'instructions and input: there are no stored prompts'],
  ['audio', given, 'text output'],
  [
    'modalities',
    (value) => Array.isArray(value) && value.some((kind) => kind !== 'text'),
    'text only',
  ],
  [
    'context_management',
    (value) => Array.isArray(value) && value.length > 0,
    'no management of the context',
  ],
];

function string(body: Body, field: string): string | undefined {
  const value = body[field];
  if (!given(value)) return undefined;
  if (typeof value !== 'string') throw refusal(field, `is ${quote(value)}`, 'a string');
  return value;
}

/** May be left out where the conversation goes on from a response. */
function readInputField(body: Body, continues: boolean): string | readonly unknown[] {
  const { input } = body;
  if (typeof input === 'string' || Array.isArray(input))
    return input as string | readonly unknown[];
  if (!given(input) && continues) return [];
  throw refusal(
    'input',
    given(input) ? `is ${quote(input)}` : 'is missing',
    'a string or a list of items',
  );
}

interface Tool {
  readonly type: 'function';
  readonly function: Body & { readonly name: string };
}

/** From the flat shape of this API to the nested one, keys in the client's order. */
function readTool(tool: unknown, i: number): Tool {
  if (!isRecord(tool)) throw refusal(`tools[${i}]`, `is ${quote(tool)}`, 'a tool');
  const { type, ...definition } = tool;
  const { name } = definition;
  if (type !== 'function')
    throw refusal(
      `tools[${i}].type`,
      `is ${quote(type)}`,
      'function; hosted and custom tools are not available here',
    );
  if (typeof name !== 'string' || name === '')
    throw refusal(`tools[${i}].name`, `is ${quote(name)}`, 'the name of the function');
  return { type, function: definition as Tool['function'] };
}

/**
 * A list of allowed tools is no reason to tell the model about fewer: prompts would differ between
 * turns.
 */
function readChoice(value: unknown, tools: readonly Tool[]): ToolChoice {
  const allowed = isRecord(value) && value['type'] === 'allowed_tools';
  return readToolChoice(
    allowed ? value['mode'] : value,
    tools.map((tool) => tool.function.name),
    'tool_choice',
  );
}
