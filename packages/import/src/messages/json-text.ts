/** Reads values that exporters write as JSON strings within JSON. */
import { fault } from '../record/fault.js';
import { parseJson } from './parse-json.js';

/** Returns true if the value is a string that begins like a JSON object or list. */
export const looksLikeJson = (value: unknown): value is string =>
  typeof value === 'string' && /^\s*[[{]/.test(value);

/** Parses a string that contains a JSON object or list; returns every other value unchanged. */
export function unwrapped(value: unknown): unknown {
  if (!looksLikeJson(value)) return value;
  try {
    return parseJson(value);
  } catch {
    return value;
  }
}

/**
 * Parses a string that must be JSON; returns values that are not strings unchanged.
 * @throws TaskError if the string is truncated or not JSON
 */
export function parsed(value: unknown, what: string): unknown {
  if (typeof value !== 'string') return value;
  try {
    return parseJson(value);
  } catch {
    throw fault(`JSON text is cut off or malformed: ${what}`, value.slice(-30));
  }
}
