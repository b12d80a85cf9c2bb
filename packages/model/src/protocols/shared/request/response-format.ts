/** `response_format` and `text.format`: told to the model, never forced on it. */
import { given, isRecord, type Body } from './fields.js';
import { quote, refusal } from './invalid-request.js';

export interface AnswerFormat {
  readonly type: 'json_object' | 'json_schema';
  readonly name?: string;
  readonly description?: string;
  /** With the client's key order. */
  readonly schema?: Body;
}

/**
 * Reads the form of chat completions (`{ type, json_schema: { name, schema } }`) and that of
 * responses (`{ type, name, schema }`). Nothing for `text` and for no format. @param param path of
 * the field, for errors. @throws ModelError 400
 */
export function readAnswerFormat(value: unknown, param: string): AnswerFormat | undefined {
  if (!given(value)) return undefined;
  if (!isRecord(value)) throw refusal(param, `is ${quote(value)}`, 'an object with a type');
  const { type } = value;
  if (type === 'text') return undefined;
  if (type === 'json_object') return { type };
  if (type !== 'json_schema')
    throw refusal(`${param}.type`, `is ${quote(type)}`, 'text, json_object or json_schema');
  const nested = given(value['json_schema']);
  const path = nested ? `${param}.json_schema` : param;
  const holder = nested ? value['json_schema'] : value;
  if (!isRecord(holder)) throw refusal(path, `is ${quote(holder)}`, 'an object with a schema');
  const { name, description, schema } = holder;
  if (given(schema) && !isRecord(schema))
    throw refusal(`${path}.schema`, `is ${quote(schema)}`, 'a JSON Schema object');
  return {
    type,
    ...(typeof name === 'string' && { name }),
    ...(typeof description === 'string' && { description }),
    ...(isRecord(schema) && { schema }),
  };
}

/**
 * What the model is told, the same text whenever the same format is asked for. Decoding is not
 * constrained: that would change the distribution that log-probabilities belong to; whether the
 * form was kept is for the reward to judge.
 * @param tools whether the model may call tools instead
 */
export function formatInstruction(format: AnswerFormat, tools: boolean): string {
  const { name, description, schema } = format;
  const opening = tools ? 'When you answer without calling a function, write' : 'Write';
  const rest = 'and nothing else: no explanation and no code fence.';
  if (!schema)
    return `${opening} one JSON ${format.type === 'json_object' ? 'object' : 'value'} ${rest}`;
  const title = name === undefined ? '' : ` of ${name}`;
  const purpose = description === undefined ? '' : ` (${description})`;
  return `${opening} one JSON value that follows the JSON Schema${title}${purpose} below ${rest}\n${JSON.stringify(schema)}`;
}
