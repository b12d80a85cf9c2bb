/** Serialises the arguments of tool calls to JSON, and limits their nesting. */
import { stringEnd } from '@trinity-rft/core/support';
import { dumps } from '../jinja/spelling.js';
import type { Dict, Value } from '../jinja/values.js';
import type { Attempt } from './scan-calls.js';

/**
 * Maximum nesting depth of arguments from models and clients. There is a limit because templates
 * print arguments recursively. It is lower than the limit for request bodies, because in the
 * Messages API a request body contains arguments as nested objects.
 */
export const maxNesting = 120;

/**
 * Returns true if arrays and objects in a JSON text are nested deeper than {@link maxNesting}. The
 * text may be cut off. Takes time proportional to its length.
 */
export function isTooDeep(json: string): boolean {
  let depth = 0;
  for (let i = 0; i < json.length; i++) {
    const character = json[i];
    if (character === '"') {
      const end = stringEnd(json, i);
      if (end < 0) return false;
      i = end - 1;
    } else if (character === ']' || character === '}') depth--;
    else if ((character === '[' || character === '{') && ++depth > maxNesting) return true;
  }
  return false;
}

/**
 * Returns true if the value can be an argument in JSON: it contains no infinity or NaN and is not
 * nested too deeply.
 */
export const isArgument = (value: Value): boolean => jsonOf([value]) !== undefined;

/**
 * Returns the attempt with one call that ends at `end`, or with one malformed call if JSON cannot
 * represent the arguments.
 */
export function readCallOf(name: string, args: Dict, end: number): Attempt {
  const json = jsonOf(args);
  return json === undefined
    ? { malformed: 1, end }
    : { toolCalls: [{ name, arguments: json }], end };
}

/**
 * Returns the JSON of arguments; undefined if JSON cannot represent them, or they are nested too
 * deeply.
 */
export function jsonOf(value: Value): string | undefined {
  try {
    const json = dumps(value, { allowNan: false });
    return isTooDeep(json) ? undefined : json;
  } catch {
    return undefined;
  }
}
