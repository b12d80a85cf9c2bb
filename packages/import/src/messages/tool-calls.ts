/** Converts tool calls and tool definitions to those of the OpenAI API. */
import type { ChatMessage, ToolCall, ToolDefinition } from '@trinity-rft/core';
import {
  argumentsWithoutNulls,
  schemaWithoutNulls,
  stringifyExactly,
  toolWithoutNulls,
} from '@trinity-rft/core/support';
import { fault } from '../record/fault.js';
import { isJson, isPresent, type Json } from '../record/item.js';
import { parsed, unwrapped } from './json-text.js';

export function readCalls(value: unknown): readonly ToolCall[] {
  const calls = parsed(value ?? [], 'a list of tool calls');
  if (!Array.isArray(calls)) throw fault('the tool calls are not a list', calls);
  return calls.map(readCall);
}

/**
 * Reads a tool call in any vendor's format, or a JSON string of one. A call without an id gets an
 * empty id.
 */
export function readCall(value: unknown): ToolCall {
  const call = parsed(value, 'a tool call');
  if (!isJson(call)) throw fault('a tool call is not an object', call);
  const inner = isJson(call['function']) ? call['function'] : call;
  const name = inner['name'] ?? call['toolName'];
  if (typeof name !== 'string') throw fault('a tool call has no name', Object.keys(call));
  const id = call['id'] ?? call['toolCallId'];
  const given = inner['arguments'] ?? inner['args'] ?? inner['input'] ?? inner['parameters'] ?? {};
  const read: ToolCall = {
    id: typeof id === 'string' ? id : '',
    type: 'function',
    function: { name, arguments: argumentsOf(given) },
  };
  if (isJson(given)) givenArguments.set(read, given);
  return read;
}

/** Arguments that a source has as an object, by the call that was made of them. */
const givenArguments = new WeakMap<ToolCall, Json>();

/**
 * Removes arguments that are null and that the called tool does not take as null. Arguments that the
 * source has as a string stay, because a model has written them.
 */
export function withoutNullArguments(
  messages: readonly ChatMessage[],
  tools: readonly ToolDefinition[] | undefined,
): readonly ChatMessage[] {
  const cleaned = (call: ToolCall): ToolCall => {
    const { name } = call.function;
    const given = givenArguments.get(call);
    const tool = tools?.find((each) => each.function.name === name);
    if (given === undefined || tool === undefined) return call;
    const args = argumentsWithoutNulls(given, tool.function.parameters);
    return { ...call, function: { name, arguments: stringifyExactly(args) } };
  };
  return messages.map((message) =>
    message.tool_calls ? { ...message, tool_calls: message.tool_calls.map(cleaned) } : message,
  );
}

/**
 * Returns the arguments of a tool call as a JSON string. The source may contain them as an object
 * or as a JSON string.
 */
function argumentsOf(given: unknown): string {
  if (typeof given !== 'string') return stringifyExactly(given);
  if (given.trim() === '') return '{}';
  if (!isJson(parsed(given, 'the arguments of a tool call')))
    throw fault('the arguments of a tool call are not an object', given);
  return given;
}

/**
 * Reads a list of tool definitions, or a JSON string of it. Returns undefined if there are no
 * tools.
 */
export function readTools(value: unknown): readonly ToolDefinition[] | undefined {
  if (!isPresent(value) || value === '') return undefined;
  const tools = parsed(value, 'the list of tools');
  if (!Array.isArray(tools)) throw fault('the tools are not a list', tools);
  return tools.length === 0 ? undefined : tools.map(readTool);
}

function readTool(value: unknown): ToolDefinition {
  const tool = unwrapped(value);
  if (!isJson(tool)) throw fault('a tool is not an object', tool);
  if (isJson(tool['function']) && typeof tool['function']['name'] === 'string')
    return { ...(toolWithoutNulls(tool) as unknown as ToolDefinition), type: 'function' };
  const { name, description } = tool;
  if (typeof name !== 'string') throw fault('a tool has no name', Object.keys(tool));
  const parameters = unwrapped(tool['parameters'] ?? tool['inputSchema'] ?? tool['input_schema']);
  return {
    type: 'function',
    function: {
      name,
      ...(typeof description === 'string' && { description }),
      ...(isJson(parameters) && { parameters: schemaWithoutNulls(parameters) as Json }),
    },
  };
}
