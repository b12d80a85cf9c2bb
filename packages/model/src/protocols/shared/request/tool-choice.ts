/** Reads `tool_choice`. `none` is enforced. A forced call becomes an instruction to the model. */
import { invalidRequest, quote } from '@trinity-rft/chat/internal';
import { flag, isObject, isPresent, type JsonObject } from './fields.js';

/** A tool in the format of chat completions. */
export interface FunctionTool {
  readonly type: 'function';
  readonly function: JsonObject & { readonly name: string };
}

/** Choice of tools. `{ name }` forces a call of the function with this name. */
export type ToolChoice = 'none' | 'auto' | 'required' | { readonly name: string };

/**
 * Reads a choice in the format of chat completions (`{ type, function: { name } }`) and of
 * responses (`{ type, name }`).
 * @param param path of the field, for errors
 * @param sent value as the client sent it, for errors
 * @throws ModelError 400 for an invalid choice, or for a tool that the request does not contain
 */
export function readToolChoice(
  value: unknown,
  toolNames: readonly string[],
  param: string,
  sent = value,
): ToolChoice {
  if (!isPresent(value) || value === 'auto') return 'auto';
  if (value === 'none') return 'none';
  if (toolNames.length === 0)
    throw invalidRequest(param, `is ${quote(sent)} without tools`, 'none or auto, or tools');
  if (value === 'required') return 'required';
  if (!isObject(value) || value['type'] !== 'function') {
    throw invalidRequest(
      param,
      `is ${quote(sent)}`,
      'none, auto, required, or one function; hosted tools are not supported',
    );
  }
  const nested = isObject(value['function']) ? value['function'] : undefined;
  const { name } = nested ?? value;
  if (typeof name === 'string' && toolNames.includes(name)) return { name };
  throw invalidRequest(
    nested ? `${param}.function.name` : `${param}.name`,
    `is ${quote(name)}`,
    `one of the tools: ${toolNames.join(', ')}`,
  );
}

/**
 * Returns the instruction to the model, or undefined if none is needed. The instruction is part of
 * the system message. If an agent forces a call in one turn but not in the next, the system message
 * changes, so that the next turn cannot continue from recorded tokens (`fork/history_edited`).
 * @param oneCall true if the client does not allow parallel calls
 */
export function toolChoiceInstruction(choice: ToolChoice, oneCall: boolean): string | undefined {
  if (choice === 'none') return undefined;
  if (choice === 'auto') return oneCall ? 'Call at most one function per turn.' : undefined;
  if (choice === 'required' && oneCall) return 'You must call exactly one of the functions.';
  return choice === 'required'
    ? 'You must call one of the functions.'
    : `You must call the function ${choice.name}.`;
}

/**
 * Returns true if the request has tools and sets `parallel_tool_calls` to false.
 * @throws ModelError 400 if the field is not a boolean
 */
export function wantsOneCall(body: JsonObject, tools: readonly unknown[]): boolean {
  const inParallel = !isPresent(body['parallel_tool_calls']) || flag(body, 'parallel_tool_calls');
  return tools.length > 0 && !inParallel;
}
