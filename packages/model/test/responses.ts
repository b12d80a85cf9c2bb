/** Helpers for tests of the Responses API. */
import { tools } from './helpers.js';

export const call = (args: string): string =>
  `<tool_call>\n{"name": "add", "arguments": ${args}}\n</tool_call>`;

/** The tool of the other tests, in the flat format of the Responses API. */
export const add = { type: 'function' as const, ...tools[0]!.function, strict: null };

export const post = (body: unknown): Request =>
  new Request('http://host/r/7/v1/responses', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

export const at = (path: string, method = 'GET'): Request =>
  new Request(`http://host/r/7/v1/responses/${path}`, { method });
