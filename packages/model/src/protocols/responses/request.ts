/**
 * Reads requests of the Responses API, and decides which fields of a client's JSON are used,
 * ignored or rejected.
 */
import { invalidRequest, quote } from '@trinity-rft/chat/internal';
import type { OpenAI } from 'openai';
import { checkDefinition } from '../../rollout/tool-definitions.js';
import type { EndpointPolicy } from '../shared/endpoint-policy.js';
import type { RouteContext } from '../shared/route.js';
import {
  flag,
  integer,
  isObject,
  isPresent,
  list,
  object,
  outputIsNotText,
  rejectUnsupported,
  string,
  type JsonObject,
  type UnsupportedField,
} from '../shared/request/fields.js';
import {
  readConstraint,
  readResponseFormat,
  type ConstraintRequest,
  type ResponseFormat,
} from '../shared/request/response-format.js';
import {
  readSampling,
  readTopLogprobs,
  type RequestedSampling,
} from '../shared/request/sampling-fields.js';
import { checkFields } from '../shared/request/strict-fields.js';
import { readTemplateArgs } from '../shared/request/template-args.js';
import {
  readToolChoice,
  wantsOneCall,
  type FunctionTool,
  type ToolChoice,
} from '../shared/request/tool-choice.js';

/** Fields of a request that are used. Other fields are ignored or rejected. */
export interface ResponsesRequest extends RequestedSampling, ConstraintRequest {
  /**
   * Input items as the client sent them. `readInput` converts them later, because it needs the
   * stored items.
   */
  readonly input: string | readonly unknown[];
  readonly instructions?: string;
  readonly previousResponseId?: string;
  /** Tools in the format of chat completions. */
  readonly tools: readonly unknown[];
  readonly toolChoice: ToolChoice;
  /**
   * True if the model can call tools that `tool_choice` forbids, because the restriction is
   * ignored.
   */
  readonly widensTools: boolean;
  /** True if parallel tool calls are not allowed. */
  readonly oneCall: boolean;
  /** Variables of the chat template. */
  readonly templateArgs?: JsonObject;
  readonly maxTokens?: number;
  /** Number of alternatives per token; undefined if no log-probabilities are requested. */
  readonly topLogprobs?: number;
  readonly stream: boolean;
  /** True to store the response, so that later requests can refer to it. */
  readonly store: boolean;
  /** True if reasoning items have `encrypted_content`. */
  readonly sealReasoning: boolean;
  /** JSON format that the response must have, from `text.format`. Absent if any text is allowed. */
  readonly format?: ResponseFormat;
  /** The request as the client sent it. */
  readonly body: JsonObject;
}

const usedFields: ReadonlySet<string> = new Set([
  'input',
  'instructions',
  'previous_response_id',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'text',
  'reasoning',
  'chat_template_kwargs',
  'include',
  'max_output_tokens',
  // This field only affects hosted tools, which are rejected.
  'max_tool_calls',
  'temperature',
  'top_p',
  'top_k',
  'seed',
  'top_logprobs',
  'stream',
  'stream_options',
  'background',
  'modalities',
  'context_management',
]);

const textFields: ReadonlySet<string> = new Set(['format']);

/**
 * Reads a Responses request.
 * @throws ModelError 400 naming the field that is invalid or not supported
 */
export function readRequest(body: unknown, policy: RouteContext): ResponsesRequest {
  if (!isObject(body)) throw invalidRequest('body', 'is not a JSON object', 'a Responses request');
  rejectUnsupported(body, unsupported);
  checkFields(body, usedFields, policy);
  checkFields(object(body, 'text'), textFields, policy, 'text.');
  // These fields are only checked and repeated in the answer.
  for (const field of ['metadata', 'reasoning']) object(body, field);
  const previousResponseId = string(body, 'previous_response_id');
  const tools = (list(body, 'tools') ?? []).map(readTool);
  const include = readInclude(body, policy);
  const hasLogprobs = include.includes('message.output_text.logprobs');
  const topLogprobs = readTopLogprobs(
    body,
    [hasLogprobs, 'include: ["message.output_text.logprobs"]'],
    policy,
  );
  const store = !isPresent(body['store']) || flag(body, 'store');
  const { toolChoice, widensTools } = readChoice(body['tool_choice'], tools, policy);
  const format = readResponseFormat(object(body, 'text')['format'], 'text.format');
  return {
    input: readInputField(body, previousResponseId !== undefined),
    instructions: string(body, 'instructions'),
    previousResponseId,
    tools,
    toolChoice,
    widensTools,
    oneCall: wantsOneCall(body, tools),
    templateArgs: readTemplateArgs(body, [object(body, 'reasoning')['effort'], 'reasoning.effort']),
    maxTokens: integer(body, 'max_output_tokens'),
    topLogprobs: hasLogprobs ? topLogprobs : undefined,
    stream: flag(body, 'stream'),
    store,
    sealReasoning: !store || include.includes('reasoning.encrypted_content'),
    ...readSampling(body),
    ...readConstraint(toolChoice, format, ['tool_choice', 'text.format']),
    format,
    body,
  };
}

const unsupported: readonly UnsupportedField[] = [
  ['background', (value) => value === true, 'false: the answer comes with the call'],
  ['conversation', isPresent, 'previous_response_id, or the whole conversation as input'],
  ['prompt', isPresent, 'instructions and input: there are no stored prompts'],
  ['audio', isPresent, 'text output'],
  ['modalities', outputIsNotText, 'text only'],
  [
    'context_management',
    (value) => Array.isArray(value) && value.length > 0,
    'no management of the context',
  ],
];

/**
 * Reads the field `input`.
 * @param continues true if there is a previous response, so that the input may be absent
 */
function readInputField(body: JsonObject, continues: boolean): string | readonly unknown[] {
  const { input } = body;
  if (typeof input === 'string' || Array.isArray(input))
    return input as string | readonly unknown[];
  if (!isPresent(input) && continues) return [];
  throw invalidRequest(
    'input',
    isPresent(input) ? `is ${quote(input)}` : 'is missing',
    'a string or a list of items',
  );
}

/**
 * Converts a tool from the flat format of the Responses API to the nested format of chat
 * completions. Keys keep the client's order.
 */
function readTool(tool: unknown, i: number): FunctionTool {
  if (!isObject(tool)) throw invalidRequest(`tools[${i}]`, `is ${quote(tool)}`, 'a tool');
  const { type, ...definition } = tool;
  if (type !== 'function')
    throw invalidRequest(
      `tools[${i}].type`,
      `is ${quote(type)}`,
      'function; hosted and custom tools are not supported',
    );
  checkDefinition(definition, (key) => `tools[${i}].${key}`);
  return { type, function: definition };
}

/**
 * Reads `tool_choice`. A choice of type `allowed_tools` does not remove other tools from the
 * prompt, because prompts must not differ between turns. Its list of tools is therefore followed
 * only if it contains all tools, or a single tool that must be called. Any other list is rejected
 * with `strictFields`, and ignored without it.
 */
function readChoice(
  value: unknown,
  tools: readonly FunctionTool[],
  { strictFields = false }: EndpointPolicy,
): Pick<ResponsesRequest, 'toolChoice' | 'widensTools'> {
  const names = tools.map((tool) => tool.function.name);
  if (!isObject(value) || value['type'] !== 'allowed_tools')
    return { toolChoice: readToolChoice(value, names, 'tool_choice'), widensTools: false };
  const mode = readToolChoice(value['mode'], names, 'tool_choice.mode');
  const allowed = readAllowed(value['tools'], names);
  const [only] = allowed;
  if (mode === 'required' && only !== undefined && allowed.size === 1)
    return { toolChoice: { name: only }, widensTools: false };
  const notAllowed = mode === 'none' ? [] : names.filter((name) => !allowed.has(name));
  if (strictFields && notAllowed.length > 0)
    throw invalidRequest(
      'tool_choice.tools',
      `does not have ${notAllowed.join(', ')}`,
      'all tools, or one with mode required; leave tools that are not allowed out of the request',
    );
  return { toolChoice: mode, widensTools: notAllowed.length > 0 };
}

function readAllowed(value: unknown, names: readonly string[]): ReadonlySet<string> {
  if (!Array.isArray(value))
    throw invalidRequest('tool_choice.tools', `is ${quote(value)}`, 'a list of functions');
  const allowed = value.map((tool: unknown, i) => {
    const { type, function: nested } = isObject(tool) ? tool : {};
    const { name } = isObject(nested) ? nested : isObject(tool) ? tool : {};
    if (type === 'function' && typeof name === 'string' && names.includes(name)) return name;
    throw invalidRequest(
      `tool_choice.tools[${i}]`,
      `is ${quote(tool)}`,
      `{ "type": "function", "name": one of ${names.join(', ') || 'the tools, but there are none'} }`,
    );
  });
  return new Set(allowed);
}

/**
 * Returns the values of `include`.
 * @throws ModelError 400 with `strictFields`, for a value that OpenAI's API does not have
 */
function readInclude(
  body: JsonObject,
  { strictFields = false }: EndpointPolicy,
): readonly unknown[] {
  const include = list(body, 'include') ?? [];
  const unknown = include.findIndex((value) => !includable.has(value));
  if (strictFields && unknown >= 0)
    throw invalidRequest(
      `include[${unknown}]`,
      `is ${quote(include[unknown])}`,
      `one of ${[...includable].join(', ')}`,
    );
  return include;
}

/** Values of `include`. Values for hosted tools and images have no effect on responses. */
const includable: ReadonlySet<unknown> = new Set<OpenAI.Responses.ResponseIncludable>([
  'message.output_text.logprobs',
  'reasoning.encrypted_content',
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
]);
