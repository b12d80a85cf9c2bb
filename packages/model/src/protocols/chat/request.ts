/**
 * Reads chat completion requests, and decides which fields of a client's JSON are used, ignored or
 * rejected.
 */
import { normalizeMessages, type NormalMessage } from '@trinity-rft/chat';
import { invalidRequest, isPrefill, quote, withInstructions } from '@trinity-rft/chat/internal';
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
  stopStrings,
  type JsonObject,
  type UnsupportedField,
} from '../shared/request/fields.js';
import {
  formatInstruction,
  readConstraint,
  readResponseFormat,
  type ConstraintRequest,
} from '../shared/request/response-format.js';
import {
  maxChoices,
  readSampling,
  readTopLogprobs,
  type RequestedSampling,
} from '../shared/request/sampling-fields.js';
import { checkFields } from '../shared/request/strict-fields.js';
import { readTemplateArgs } from '../shared/request/template-args.js';
import {
  readToolChoice,
  toolChoiceInstruction,
  wantsOneCall,
} from '../shared/request/tool-choice.js';
import { checkToolResults } from '../shared/request/tool-results.js';

/** Fields of a chat completion request that are used. Other fields are ignored or rejected. */
export interface ChatCompletionRequest extends RequestedSampling, ConstraintRequest {
  /**
   * Messages of the conversation. They include instructions that the endpoint adds for the model.
   */
  readonly messages: readonly NormalMessage[];
  readonly tools: readonly unknown[];
  /** False for `tool_choice: "none"`, in which case the response is not parsed for tool calls. */
  readonly parseTools: boolean;
  /** Variables of the chat template. */
  readonly templateArgs?: JsonObject;
  readonly n: number;
  /** The lower of `max_tokens` and `max_completion_tokens`. */
  readonly maxTokens?: number;
  readonly stop: readonly string[];
  readonly logprobs: boolean;
  readonly topLogprobs: number;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /**
   * True to include the token ids of prompt and completion in the response, an extension of vLLM.
   */
  readonly returnTokenIds: boolean;
}

const usedFields: ReadonlySet<string> = new Set([
  'messages',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'chat_template_kwargs',
  'continue_final_message',
  'add_generation_prompt',
  'reasoning_effort',
  'n',
  'max_tokens',
  'max_completion_tokens',
  'stop',
  'temperature',
  'top_p',
  'top_k',
  'seed',
  'logprobs',
  'top_logprobs',
  'return_token_ids',
  'stream',
  'stream_options',
  'functions',
  'modalities',
]);

/**
 * Reads a chat completion request.
 * @throws ModelError 400 naming the field that is invalid or not supported
 */
export function readRequest(body: unknown, context: RouteContext): ChatCompletionRequest {
  if (!isObject(body))
    throw invalidRequest('body', `is ${quote(body)}`, 'a chat completion request');
  rejectUnsupported(body, unsupported);
  checkFields(body, usedFields, context);
  const messages = list(body, 'messages') ?? [];
  const tools = list(body, 'tools') ?? [];
  const choice = readToolChoice(body['tool_choice'], toolNames(tools), 'tool_choice');
  const format = readResponseFormat(body['response_format'], 'response_format');
  const parseTools = choice !== 'none';
  const logprobs = flag(body, 'logprobs');
  checkToolResults(messages);
  const instructed = withInstructions(
    normalizeMessages(messages),
    [
      format && formatInstruction(format, tools.length > 0 && parseTools),
      toolChoiceInstruction(choice, wantsOneCall(body, tools)),
    ],
    context.instructionRole,
  );
  checkEnding(body, instructed);
  return {
    messages: instructed,
    tools,
    parseTools,
    templateArgs: readTemplateArgs(body, [body['reasoning_effort'], 'reasoning_effort']),
    n: integer(body, 'n', 1, maxChoices) ?? 1,
    maxTokens: lower(integer(body, 'max_tokens'), integer(body, 'max_completion_tokens')),
    stop: stopStrings(body, 'stop'),
    logprobs,
    topLogprobs: readTopLogprobs(body, [logprobs, 'logprobs: true'], context),
    stream: flag(body, 'stream'),
    includeUsage: flag(object(body, 'stream_options'), 'include_usage'),
    returnTokenIds: flag(body, 'return_token_ids'),
    ...readSampling(body),
    ...readConstraint(choice, format, ['tool_choice', 'response_format']),
  };
}

const unsupported: readonly UnsupportedField[] = [
  ['functions', (value) => Array.isArray(value) && value.length > 0, 'tools instead'],
  ['audio', isPresent, 'text output'],
  ['modalities', outputIsNotText, 'text only'],
  ['web_search_options', isPresent, 'tools of your own'],
];

/**
 * Checks vLLM's fields that control how the prompt ends. They may only request the endpoint's own
 * behaviour: the model continues a final assistant message that has no tool calls, and replies to
 * any other final message.
 */
function checkEnding(body: JsonObject, messages: readonly NormalMessage[]): void {
  if (!['continue_final_message', 'add_generation_prompt'].some((field) => isPresent(body[field])))
    return;
  const continues = isPrefill(messages.at(-1));
  const expected = `${continues}: the model ${continues ? 'continues' : 'does not continue'} the last message`;
  const given = [
    ['continue_final_message', continues],
    ['add_generation_prompt', !continues],
  ] as const;
  for (const [field, only] of given)
    if (isPresent(body[field]) && flag(body, field) !== only)
      throw invalidRequest(
        field,
        `is ${quote(body[field])}`,
        field === 'continue_final_message' ? expected : `${only}`,
      );
}

const lower = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

/**
 * Returns the names of the tools. Skips tools without a valid name, because they are rejected
 * later, when the tools are read.
 */
function toolNames(tools: readonly unknown[]): readonly string[] {
  return tools
    .map((tool) => (isObject(tool) && isObject(tool['function']) ? tool['function']['name'] : null))
    .filter((name) => typeof name === 'string');
}
