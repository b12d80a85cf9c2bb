/** Converts arguments that a syntax writes as plain text to values of the types in the schema. */
import { valueOfJson } from '../jinja/from-json.js';
import { Float, isDict, isList, numeric, type Value } from '../jinja/values.js';
import { isArgument } from './argument-json.js';
import { PythonReader } from './python-literal.js';

/**
 * Converts text to a value of one of the types. Text that does not match any type stays a string:
 * the called tool reports the mistake.
 */
export function convert(text: string, types: readonly string[]): Value {
  if (types.length === 0) return text;
  const isText = types.includes('string');
  const nothing = isText ? /^(?:null|None)$/ : /^(?:null|none)$/i;
  if (nothing.test(text.trim()) && (types.includes('null') || !isText)) return null;
  if (isText) return text;
  const value = literal(text.trim());
  const matches = types.some((type) => fits(value, type));
  if (matches) return types.includes('number') && value instanceof Float ? shortest(value) : value;
  return types.includes('boolean') && /^(?:true|false)$/i.test(text.trim())
    ? /^true$/i.test(text.trim())
    : text;
}

/** Converts a whole float to an int: as in vLLM, 2.0 for a number becomes 2. */
const shortest = (float: Float): Value => (Number.isSafeInteger(float.value) ? float.value : float);

function fits(value: Value, type: string): boolean {
  if (type === 'array') return isList(value);
  if (type === 'object') return isDict(value);
  if (type === 'boolean') return typeof value === 'boolean';
  if (type === 'integer') return typeof value === 'number' || typeof value === 'bigint';
  return type === 'number' && typeof value !== 'boolean' && numeric(value) !== undefined;
}

/**
 * Reads JSON, otherwise a Python literal. Returns undefined for other text, and for values that an
 * argument cannot have, such as 1e999.
 */
export function literal(text: string): Value {
  const value = jsonLiteral(text) ?? pythonLiteral(text);
  return isArgument(value) ? value : undefined;
}

function jsonLiteral(text: string): Value {
  try {
    return valueOfJson(text);
  } catch {
    return undefined;
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
