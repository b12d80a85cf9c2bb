/** Writes the arguments of calls whose syntax is not JSON. */
import { dumps } from '../jinja/spelling.js';
import type { Dict, Value } from '../jinja/values.js';
import type { Attempt } from './scan-calls.js';

/** True if JSON can represent the value as an argument: it is finite and not nested too deeply. */
export const isArgument = (value: Value): boolean => jsonOf([value]) !== undefined;

/** The call that ends at `end`; malformed if JSON cannot represent its arguments. */
export function readCallOf(name: string, args: Dict, end: number): Attempt {
  const json = jsonOf(args);
  return json === undefined
    ? { malformed: 1, end }
    : { toolCalls: [{ name, arguments: json }], end };
}

function jsonOf(value: Value): string | undefined {
  try {
    return dumps(value, { allowNan: false });
  } catch {
    return undefined;
  }
}
