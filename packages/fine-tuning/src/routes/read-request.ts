/** Reads the bodies and queries of requests. */
import { readJson } from '@trinity-rft/http-server';
import { refused } from '../wire/refuse.js';

const mostBytes = 4 * 2 ** 20;

/**
 * Reads a body that must be a JSON object.
 * @throws ModelError 400 if the body is not a JSON object
 */
export async function readBody(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const value = await readJson(request, { maxBytes: mostBytes, expected: 'a JSON object' });
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>;
  throw refused('The body is not a JSON object.', { param: 'body' });
}

export const queryOf = (request: Request): URLSearchParams => new URL(request.url).searchParams;
