/**
 * Reads `chat_template_kwargs` and the reasoning effort, which become variables of the chat
 * template.
 */
import { invalidRequest, quote } from '@trinity-rft/chat/internal';
import { isPresent, object, type JsonObject } from './fields.js';

/** Variables that only the endpoint may set. */
const reserved = ['messages', 'tools', 'add_generation_prompt'];

/**
 * Reads the variables that the request sets, and adds `reasoning_effort`, which templates may
 * print. The effort `none` also turns thinking off, if the template supports this. Returns
 * undefined if the request sets no variables.
 * @param effort value of the reasoning effort, and the path of the field that contains it
 * @throws ModelError 400 for a reserved variable, or an effort that is not a string
 */
export function readTemplateArgs(
  body: JsonObject,
  [effort, effortField]: readonly [value: unknown, field: string],
): JsonObject | undefined {
  const field = 'chat_template_kwargs';
  const given = object(body, field);
  const taken = reserved.find((name) => name in given);
  if (taken !== undefined)
    throw invalidRequest(`${field}.${taken}`, 'is set', 'other variables of the chat template');
  if (isPresent(effort) && typeof effort !== 'string')
    throw invalidRequest(effortField, `is ${quote(effort)}`, 'a string');
  const wished = isPresent(effort)
    ? { reasoning_effort: effort, ...(effort === 'none' && { enable_thinking: false }) }
    : {};
  const all = { ...wished, ...given };
  return Object.keys(all).length > 0 ? all : undefined;
}
