/** JSON bodies of requests, and errors in the shape of OpenAI's servers. */
import { describeError, ModelError, TrinityError } from '@trinity-rft/core';

/** Enough for ten thousand ids. */
const maxBytes = 8_000_000;

/** An absent body is undefined. @throws ModelError 400, 413 */
export async function readJson(request: Request): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > maxBytes) {
      throw new ModelError(`The body is larger than ${maxBytes} bytes. Send less at a time.`, {
        status: 413,
        code: 'request_too_large',
      });
    }
    chunks.push(chunk);
  }
  if (size === 0) return undefined;
  const invalid = (what: string, cause?: unknown): ModelError =>
    new ModelError(`The body ${what}. Expected a JSON object in UTF-8.`, {
      status: 400,
      code: 'invalid_json',
      cause,
    });
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)));
  } catch (cause) {
    throw invalid('is not JSON', cause);
  }
  if (nestsDeeper(value, maxDepth)) throw invalid(`is nested deeper than ${maxDepth} levels`);
  return value;
}

/** Messages print values, which takes a stack as deep as the value. */
const maxDepth = 16;

function nestsDeeper(value: unknown, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return limit === 0 || Object.values(value).some((inner) => nestsDeeper(inner, limit - 1));
}

/** Errors of ours that are not the client's fault get 503: a later request may succeed. */
export function errorResponse(error: unknown): Response {
  const { status, code, details } =
    error instanceof ModelError
      ? error
      : {
          status: TrinityError.is(error) ? 503 : 500,
          code: TrinityError.is(error) ? error.code : 'internal_error',
          details: {},
        };
  const type = status < 500 ? 'invalid_request_error' : 'server_error';
  const {
    param = null,
    msgIds,
    retryAfter,
  } = details as { param?: string; msgIds?: readonly string[]; retryAfter?: number };
  const body = {
    error: { message: describeError(error), type, param, code, msg_ids: msgIds },
  };
  const headers: Record<string, string> = {};
  if (retryAfter !== undefined) headers['retry-after'] = `${retryAfter}`;
  // Clients made with OpenAI's generator retry after a conflict.
  if (status < 500) headers['x-should-retry'] = 'false';
  return Response.json(body, { status, headers });
}
