/**
 * Reads requests of Anthropic's Messages API, and decides which fields of a client's JSON are used
 * or rejected.
 */
import { normalizeMessages, type NormalMessage } from '@trinity-rft/chat';
import { invalidRequest, quote, withInstructions } from '@trinity-rft/chat/internal';
import { checkDefinition } from '../../rollout/tool-definitions.js';
import type { RouteContext } from '../shared/route.js';
import {
  flag,
  integer,
  isObject,
  isPresent,
  list,
  object,
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
import { readSampling, type RequestedSampling } from '../shared/request/sampling-fields.js';
import { checkFields } from '../shared/request/strict-fields.js';
import { readTemplateArgs } from '../shared/request/template-args.js';
import {
  readToolChoice,
  toolChoiceInstruction,
  type FunctionTool,
  type ToolChoice,
} from '../shared/request/tool-choice.js';
import { toChatMessages } from './conversation.js';

/** Fields of a request that are used. */
export interface MessagesRequest extends RequestedSampling, ConstraintRequest {
  /**
   * Messages in the format of chat completions. They include instructions that the endpoint adds
   * for the model.
   */
  readonly messages: readonly NormalMessage[];
  /** Tools in the format of chat completions. */
  readonly tools: readonly unknown[];
  readonly parseTools: boolean;
  /** Variables of the chat template. */
  readonly templateArgs?: JsonObject;
  readonly maxTokens?: number;
  readonly stop: readonly string[];
  readonly stream: boolean;
}

/**
 * Reads a Messages request.
 * @throws ModelError 400 naming the field that is invalid or not supported
 */
export function readRequest(body: unknown, context: RouteContext): MessagesRequest {
  if (!isObject(body)) throw invalidRequest('body', `is ${quote(body)}`, 'a Messages request');
  list(body, 'stop_sequences');
  rejectUnsupported(body, unsupported);
  checkFields(body, usedFields, context);
  const tools = (list(body, 'tools') ?? []).map(readTool);
  const { choice, oneCall } = readChoice(body, tools);
  const output = object(body, 'output_config');
  const format = readResponseFormat(output['format'], 'output_config.format');
  const parseTools = choice !== 'none';
  return {
    messages: withInstructions(
      normalizeMessages(toChatMessages(body)),
      [
        format && formatInstruction(format, tools.length > 0 && parseTools),
        toolChoiceInstruction(choice, oneCall),
      ],
      context.instructionRole,
    ),
    tools,
    parseTools,
    templateArgs: templateArgs(body, output),
    maxTokens: integer(body, 'max_tokens'),
    stop: stopStrings(body, 'stop_sequences'),
    stream: flag(body, 'stream'),
    ...readSampling(body),
    ...readConstraint(choice, format, ['tool_choice', 'output_config.format']),
  };
}

const isUsedList = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

const unsupported: readonly UnsupportedField[] = [
  ['container', isPresent, 'tools of your own'],
  ['context_management', isPresent, 'no management of the context'],
  ['mcp_servers', isUsedList, 'tools of your own'],
];

const usedFields: ReadonlySet<string> = new Set([
  'messages',
  'system',
  'tools',
  'tool_choice',
  'output_config',
  'thinking',
  'chat_template_kwargs',
  'max_tokens',
  'stop_sequences',
  'temperature',
  'top_p',
  'top_k',
  'seed',
  'stream',
  'mcp_servers',
  // This field only affects the prompt caches of Anthropic's servers.
  'cache_control',
]);

function readTool(tool: unknown, i: number): FunctionTool {
  if (!isObject(tool)) throw invalidRequest(`tools[${i}]`, `is ${quote(tool)}`, 'a tool');
  const { type = 'custom', name, description, input_schema: parameters } = tool;
  if (type !== 'custom')
    throw invalidRequest(
      `tools[${i}].type`,
      `is ${quote(type)}`,
      'custom; tools of the server are not supported',
    );
  const definition = { name, description, parameters };
  const field = (key: string): string => (key === 'parameters' ? 'input_schema' : key);
  checkDefinition(definition, (key) => `tools[${i}].${field(key)}`);
  return { type: 'function', function: definition };
}

function readChoice(
  body: JsonObject,
  tools: readonly FunctionTool[],
): { readonly choice: ToolChoice; readonly oneCall: boolean } {
  const given = object(body, 'tool_choice');
  const { type = 'auto', name } = given;
  const wish = { any: 'required', tool: { type: 'function', name } }[String(type)] ?? type;
  const names = tools.map((tool) => tool.function.name);
  return {
    choice: readToolChoice(wish, names, 'tool_choice', type),
    oneCall: tools.length > 0 && flag(given, 'disable_parallel_tool_use'),
  };
}

/**
 * Returns the variables of the chat template. Token budgets for thinking have no effect.
 * `max_tokens` limits thinking and response together.
 */
function templateArgs(body: JsonObject, output: JsonObject): JsonObject | undefined {
  const { type } = object(body, 'thinking');
  if (isPresent(type) && !['enabled', 'adaptive', 'disabled'].includes(type as string))
    throw invalidRequest('thinking.type', `is ${quote(type)}`, 'enabled, adaptive or disabled');
  const args = readTemplateArgs(body, [output['effort'], 'output_config.effort']);
  return isPresent(type) ? { enable_thinking: type !== 'disabled', ...args } : args;
}
