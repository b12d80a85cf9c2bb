/**
 * The syntax of Qwen3-Coder, whose arguments are text between tags:
 * `<tool_call><function=f><parameter=a>1</parameter></function></tool_call>`.
 */
import type { ToolDefinition } from '@trinity-rft/core';
import { valueOfJson } from '../jinja/from-json.js';
import { dumps } from '../jinja/spelling.js';
import { Float, isDict, isList, numeric, type Value } from '../jinja/values.js';
import { PythonReader } from './python-literal.js';
import type { ParsedToolCall, ToolCallParser } from './types.js';

const open = '<tool_call>';
const close = '</tool_call>';

/** `<tool_call>` may be missing, as may the tags at the end of the text, where models often stop. */
export const qwen3Coder: ToolCallParser = {
  markers: [open, close, '<function='],
  parse: (text, tools = []) => {
    const toolCalls: ParsedToolCall[] = [];
    let malformed = 0;
    const rest = text.replaceAll(
      /\n?(?:<tool_call>\s*)?<function=([^>\n]*)>([^]*?)(?:<\/function>(?:\s*<\/tool_call>)?|$)\s*/g,
      (whole, name: string, body: string) => {
        const args = readParameters(body, schemasOf(name.trim(), tools));
        if (name.trim() !== '' && args) {
          toolCalls.push({ name: name.trim(), arguments: dumps(args) });
          return '';
        }
        malformed++;
        return whole;
      },
    );
    if (toolCalls.length === 0 && malformed === 0) malformed = text.includes(open) ? 1 : 0;
    return toolCalls.length === 0
      ? { text, toolCalls, malformed }
      : { text: rest, toolCalls, malformed };
  },
};

type Schema = Readonly<Record<string, unknown>>;

function schemasOf(name: string, tools: readonly ToolDefinition[]): Schema {
  const parameters = tools.find((tool) => tool.function.name === name)?.function.parameters;
  return (parameters?.['properties'] as Schema | undefined) ?? {};
}

/** Undefined when the text has anything else than parameters. */
function readParameters(body: string, schemas: Schema): Value {
  const args = new Map<Value, Value>();
  const rest = body.replaceAll(
    /<parameter=([^>\n]*)>([^]*?)(?:<\/parameter>|(?=<parameter=)|$)/g,
    (_, name: string, raw: string) => {
      const text = raw.replace(/^\n/, '').replace(/\n$/, '');
      const schema = Object.hasOwn(schemas, name) ? (schemas[name] as Schema) : undefined;
      args.set(name, schema ? convert(text, typesOf(schema)) : text);
      return '';
    },
  );
  return rest.trim() === '' ? args : undefined;
}

/** Of the schema or of its alternatives; none when it says nothing. */
function typesOf(schema: Schema): readonly string[] {
  const { type } = schema;
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) return type.filter((each) => typeof each === 'string');
  const alternatives = schema['anyOf'] ?? schema['oneOf'];
  return Array.isArray(alternatives)
    ? alternatives.flatMap((each) => typesOf((each ?? {}) as Schema))
    : [];
}

/** Text that is not of the type stays text: the function says what is wrong with it. */
function convert(text: string, types: readonly string[]): Value {
  const isNull = /^(?:null|none)$/i.test(text.trim());
  if (isNull && (types.includes('null') || !types.includes('string'))) return null;
  if (types.length === 0 || types.includes('string')) return text;
  const value = literal(text.trim());
  const matches = types.some((type) => fits(value, type));
  if (matches) return types.includes('number') && value instanceof Float ? shortest(value) : value;
  return types.includes('boolean') && /^(?:true|false)$/i.test(text.trim())
    ? /^true$/i.test(text.trim())
    : text;
}

/** As in vLLM, 2.0 for a number is 2. */
const shortest = (float: Float): Value => (Number.isSafeInteger(float.value) ? float.value : float);

function fits(value: Value, type: string): boolean {
  if (type === 'array') return isList(value);
  if (type === 'object') return isDict(value);
  if (type === 'boolean') return typeof value === 'boolean';
  if (type === 'integer') return typeof value === 'number' || typeof value === 'bigint';
  return type === 'number' && typeof value !== 'boolean' && numeric(value) !== undefined;
}

/** JSON, or else a literal of Python; undefined for other text. */
function literal(text: string): Value {
  try {
    return valueOfJson(text);
  } catch {
    return pythonLiteral(text);
  }
}

function pythonLiteral(text: string): Value {
  try {
    const reader = new PythonReader(text);
    const value = reader.value();
    return reader.done ? value : undefined;
  } catch {
    return undefined;
  }
}
