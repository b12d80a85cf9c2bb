/** Helpers with which the protocol's routes read requests and create responses. */
import type { Context, Hono } from 'hono';
import { paths, protobufType } from '../../protocol/index.js';
import { z } from 'zod';
import { parseJson, readBytes } from '@trinity-rft/http-server';
import { Refusal } from '../refusals/refusal.js';
import type { FutureResult } from '../service/futures.js';

/** Maximum size of a JSON request, in bytes: enough for a million-token prompt. */
const maxBytes = 16 * 2 ** 20;

/**
 * Schema of the lifetime of saved weights, in seconds, at most ten years. Null keeps the weights
 * forever.
 */
export const ttlSeconds = z.int().min(1).max(315_360_000).nullish();

/** Adds a route that receives and returns JSON. */
export function jsonRoute<T>(
  app: Hono,
  path: string,
  schema: z.ZodType<T>,
  answer: (body: T, text: string) => object | Promise<object>,
): void {
  app.post(paths.root + path, async (context) => {
    const { value, text } = await readRequest(context.req.raw, schema);
    return context.json(await answer(value, text));
  });
}

/**
 * Reads and validates a request body.
 * @returns the parsed body and its raw text
 * @throws ModelError 4xx if the body cannot be read, and Refusal 422, which names the first invalid
 * fields, if it does not match the schema
 */
export async function readRequest<T>(
  request: Request,
  schema: z.ZodType<T>,
): Promise<{ readonly value: T; readonly text: string }> {
  const { value, text } = parseJson(await readBytes(request, { maxBytes }));
  const { success, data, error } = schema.safeParse(value);
  if (success) return { value: data, text };
  const problems = error.issues.slice(0, 5).map(({ path, message, code, ...issue }) => {
    const place = ['body', ...path].join('.');
    return code === 'unrecognized_keys' && 'keys' in issue
      ? `${place}.${String(issue.keys)} is not supported by this server`
      : `${place}: ${message}`;
  });
  throw new Refusal(422, problems.join('; '));
}

/** Creates the immediate response to a request whose result is fetched later with `requestId`. */
export const accepted = (requestId: string, more: object = {}): object => ({
  future_id: requestId,
  request_id: requestId,
  status: 'pending',
  ...more,
});

export function resultResponse(context: Context, result: FutureResult): Response {
  if (result.kind === 'json') return context.json(result.body);
  const { buffer, byteOffset, byteLength } = result.bytes;
  const body = new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
  return context.body(body, 200, { 'content-type': protobufType });
}

export const json = (body: object): FutureResult => ({ kind: 'json', body });
