/** Routes of the protocol: what they accept, and how they answer. */
import type { Context, Hono } from 'hono';
import { paths, protobufType } from '@trinity-rft/tinker-protocol';
import type { z } from 'zod';
import { Refusal } from '../refusals/refusal.js';
import type { FutureResult } from '../service/futures.js';

/** A route with a JSON body; the answer is JSON. */
export function jsonRoute<T>(
  app: Hono,
  path: string,
  schema: z.ZodType<T>,
  answer: (body: T, text: string) => object | Promise<object>,
): void {
  app.post(paths.root + path, async (context) => {
    const text = await context.req.text();
    return context.json(await answer(readJson(text, schema), text));
  });
}

function readJson<T>(text: string, schema: z.ZodType<T>): T {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Refusal(422, 'The body is no JSON.');
  }
  const { success, data, error } = schema.safeParse(body);
  if (success) return data;
  const problems = error.issues.map(({ path, message, code, ...issue }) => {
    const place = ['body', ...path].join('.');
    return code === 'unrecognized_keys' && 'keys' in issue
      ? `${place}.${String(issue.keys)} is not supported by this server`
      : `${place}: ${message}`;
  });
  throw new Refusal(422, problems.join('; '));
}

/** The answer to a request whose result is fetched later. */
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
