/**
 * Converts arguments that a call syntax writes as plain text to values of the types in the tool's
 * schema.
 */
import { valueOfJson } from '../jinja/from-json.js';
import { Float, isDict, isList, numeric, type Value } from '../jinja/values.js';
import { isArgument } from './argument-json.js';
import { PythonReader } from './python-literal.js';

/**
 * Converts text to a value of one of the types. Text that fits none of the types stays a string, so
 * that the tool reports the mistake.
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

/**
 * Converts a float with an integer value to an int. As in vLLM, an argument of type `number` that
 * is written as 2.0 becomes 2.
 */
const shortest = (float: Float): Value => (Number.isSafeInteger(float.value) ? float.value : float);

function fits(value: Value, type: string): boolean {
  if (type === 'array') return isList(value);
  if (type === 'object') return isDict(value);
  if (type === 'boolean') return typeof value === 'boolean';
  if (type === 'integer') return typeof value === 'number' || typeof value === 'bigint';
  return type === 'number' && typeof value !== 'boolean' && numeric(value) !== undefined;
}

/**
 * Reads a JSON value or, if the text is not JSON, a Python literal. Returns undefined for other
 * text, and for values that cannot be arguments, such as 1e999.
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
