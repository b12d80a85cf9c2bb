/**
 * Reads `response_format` and `text.format`, describes them to the model, and creates the
 * constraints that enforce them.
 */
import { type ResponseConstraint } from '@trinity-rft/chat';
import { invalidRequest, quote } from '@trinity-rft/chat/internal';
import { isObject, isPresent, type JsonObject } from './fields.js';
import type { ToolChoice } from './tool-choice.js';

export interface ResponseFormat {
  readonly type: 'json_object' | 'json_schema';
  readonly name?: string;
  readonly description?: string;
  /** JSON Schema, in the client's key order. */
  readonly schema?: JsonObject;
}

/**
 * Reads the format of chat completions (`{ type, json_schema: { name, schema } }`) and of responses
 * (`{ type, name, schema }`). Returns undefined if there is no format, or if the format is `text`.
 * @param param path of the field, for errors
 * @throws ModelError 400 if the format is not valid
 */
export function readResponseFormat(value: unknown, param: string): ResponseFormat | undefined {
  if (!isPresent(value)) return undefined;
  if (!isObject(value)) throw invalidRequest(param, `is ${quote(value)}`, 'an object with a type');
  const { type } = value;
  if (type === 'text') return undefined;
  if (type === 'json_object') return { type };
  if (type !== 'json_schema')
    throw invalidRequest(`${param}.type`, `is ${quote(type)}`, 'text, json_object or json_schema');
  const nested = isPresent(value['json_schema']);
  const path = nested ? `${param}.json_schema` : param;
  const holder = nested ? value['json_schema'] : value;
  if (!isObject(holder))
    throw invalidRequest(path, `is ${quote(holder)}`, 'an object with a schema');
  const { name, description, schema } = holder;
  if (isPresent(schema) && !isObject(schema))
    throw invalidRequest(`${path}.schema`, `is ${quote(schema)}`, 'a JSON Schema object');
  return {
    type,
    name: typeof name === 'string' ? name : undefined,
    description: typeof description === 'string' ? description : undefined,
    schema: isObject(schema) ? schema : undefined,
  };
}

/**
 * Returns the instruction that describes the format to the model. Equal formats give equal
 * instructions. The instruction is needed because decoding is not constrained by default: a
 * constraint would change the distribution from which tokens are sampled, and thus their
 * log-probabilities. The reward should check that the model has followed the format.
 * @param tools true if the model may call tools instead
 */
export function formatInstruction(format: ResponseFormat, tools: boolean): string {
  const { type, name, description, schema } = format;
  const opening = tools ? 'When you answer without calling a function, write' : 'Write';
  const only = 'and nothing else: no explanation and no code fence.';
  if (!schema) return `${opening} one JSON ${type === 'json_object' ? 'object' : 'value'} ${only}`;
  const title = name === undefined ? '' : ` of ${name}`;
  const purpose = description === undefined ? '' : ` (${description})`;
  return `${opening} one JSON value that follows the JSON Schema${title}${purpose} below ${only}\n${JSON.stringify(schema)}`;
}

/** Constraint on the response, except for the tools, which are in another field of the request. */
type RequestedConstraint = Omit<ResponseConstraint, 'tools'>;

/** Constraints that a request puts on the response, and the fields that set them. */
export interface ConstraintRequest {
  readonly constraintFields: readonly string[];
  /** Constraint on the response; absent if any response is allowed. */
  readonly constraint?: RequestedConstraint;
}

/**
 * Reads the constraint of a request.
 * @param fields names of the fields for tool calls and for the format
 */
export function readConstraint(
  choice: ToolChoice,
  format: ResponseFormat | undefined,
  [callField, formatField]: readonly [string, string],
): ConstraintRequest {
  const forced = choice !== 'auto' && choice !== 'none';
  if (!forced && !format) return { constraintFields: [] };
  const json = format && { type: format.type, param: formatField, schema: format.schema };
  return {
    constraintFields: [...(forced ? [callField] : []), ...(format ? [formatField] : [])],
    constraint: { calls: choice, json },
  };
}
