/** Limits and serialises the JSON of a call's arguments. */
import { stringEnd } from '@trinity-rft/core/support';
import { dumps } from '../jinja/spelling.js';
import type { Dict, Value } from '../jinja/values.js';
import type { Attempt } from './scan-calls.js';

/**
 * Maximum nesting of arguments from models and clients. There is a limit because templates print
 * arguments recursively. It is below the limit of request bodies, which contain arguments as
 * objects in the Messages API.
 */
export const maxNesting = 120;

/**
 * True if the arrays and objects of a JSON text are nested deeper than arguments may be. The text
 * may be cut off; the time is proportional to its length.
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
 * Returns true if JSON can represent the value as an argument: it is finite and not nested too
 * deeply.
 */
export const isArgument = (value: Value): boolean => jsonOf([value]) !== undefined;

/**
 * Returns the call that ends at `end`, or a malformed call if JSON cannot represent the arguments.
 */
export function readCallOf(name: string, args: Dict, end: number): Attempt {
  const json = jsonOf(args);
  return json === undefined
    ? { malformed: 1, end }
    : { toolCalls: [{ name, arguments: json }], end };
}

/** The JSON of arguments; undefined if JSON cannot represent them, or they are too deep. */
export function jsonOf(value: Value): string | undefined {
  try {
    const json = dumps(value, { allowNan: false });
    return isTooDeep(json) ? undefined : json;
  } catch {
    return undefined;
  }
}
