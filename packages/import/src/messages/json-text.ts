/** Values that exporters write as JSON text inside of JSON. */
import { fault } from '../record/fault.js';
import { parseJson } from './parse-json.js';

/** True for text that begins like an object or a list. */
export const looksLikeJson = (value: unknown): value is string =>
  typeof value === 'string' && /^\s*[[{]/.test(value);

/** The value, parsed where it is the JSON text of an object or a list; other text stays text. */
export function unwrapped(value: unknown): unknown {
  if (!looksLikeJson(value)) return value;
  try {
    return parseJson(value);
  } catch {
    return value;
  }
}

/**
 * The value that the text must hold; values that are no text are returned.
 * @throws TaskError for a text that is cut off or is not JSON
 */
export function parsed(value: unknown, what: string): unknown {
  if (typeof value !== 'string') return value;
  try {
    return parseJson(value);
  } catch {
    throw fault(`JSON text is cut off or malformed: ${what}`, value.slice(-30));
  }
}
