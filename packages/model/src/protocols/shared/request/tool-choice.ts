/** `tool_choice`: `none` is followed, what forces a call is told to the model. */
import { given, isRecord } from './fields.js';
import { quote, refusal } from './invalid-request.js';

/** `{ name }`: that function and no other. */
export type ToolChoice = 'none' | 'auto' | 'required' | { readonly name: string };

/**
 * Reads the form of chat completions (`{ type, function: { name } }`) and that of responses (`{
 * type, name }`). Without tools there is nothing to choose, whatever the client says. @param param
 * path of the field, for errors. @throws ModelError 400
 */
export function readToolChoice(
  value: unknown,
  toolNames: readonly string[],
  param: string,
): ToolChoice {
  if (!given(value) || value === 'auto') return 'auto';
  if (value === 'none') return 'none';
  if (toolNames.length === 0) return 'auto';
  if (value === 'required') return 'required';
  if (!isRecord(value) || value['type'] !== 'function') {
    throw refusal(
      param,
      `is ${quote(value)}`,
      'none, auto, required, or one function; hosted tools are not available here',
    );
  }
  const nested = isRecord(value['function']);
  const name = isRecord(value['function']) ? value['function']['name'] : value['name'];
  if (typeof name === 'string' && toolNames.includes(name)) return { name };
  throw refusal(
    nested ? `${param}.function.name` : `${param}.name`,
    `is ${quote(name)}`,
    `one of the tools: ${toolNames.join(', ')}`,
  );
}

/**
 * What the model is told; nothing where it may choose. An agent that forces a call in one turn and
 * not in the next changes its system message by this, so the next turn does not go on from recorded
 * tokens (`fork/history_edited`).
 */
export function toolChoiceInstruction(choice: ToolChoice): string | undefined {
  if (choice === 'none' || choice === 'auto') return undefined;
  return choice === 'required'
    ? 'You must call one of the functions.'
    : `You must call the function ${choice.name}.`;
}
