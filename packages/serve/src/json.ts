/**
 * Reads JSON bodies of requests, and converts errors to responses in OpenAI's format. Requests to
 * the model have their own rules for errors.
 */
import { CancelledError, describeError, ModelError, TrinityError } from '@trinity-rft/core';
import { readJson as readBoundedJson } from '@trinity-rft/http-server';

/**
 * Limits of a body. The size is enough for ten thousand ids; the depth is limited because error
 * messages print values recursively.
 */
const limits = { maxBytes: 8_000_000, maxDepth: 16, expected: 'a JSON object in UTF-8' };

/**
 * Reads a JSON body; undefined if the body is empty.
 * @throws ModelError 400, 413, 415
 */
export const readJson = (request: Request): Promise<unknown> => readBoundedJson(request, limits);

/** Creates the response for an error. */
export function errorResponse(error: unknown): Response {
  const status = statusOf(error);
  const code = TrinityError.is(error) ? error.code : 'internal_error';
  const details = error instanceof ModelError ? error.details : {};
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
  // OpenAI's client libraries retry after status 409 unless this header forbids it.
  if (status < 500 && !temporaryStatuses.has(status)) headers['x-should-retry'] = 'false';
  return Response.json(body, { status, headers });
}

const temporaryStatuses = new Set([408, 429]);

/**
 * Returns the status of an error. A TrinityError other than ModelError gets 503, because a later
 * request may succeed. The status 499 appears only in logs.
 */
function statusOf(error: unknown): number {
  if (error instanceof ModelError) return error.status;
  if (error instanceof CancelledError && error.code === 'CLIENT_GONE') return 499;
  return TrinityError.is(error) ? 503 : 500;
}
