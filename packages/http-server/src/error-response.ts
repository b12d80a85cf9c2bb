/** Creates error responses in OpenAI's format, which all servers of this project use. */
import { CancelledError, describeError, ModelError } from '@trinity-rft/core';

export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string;
    /** Message ids to which the error refers; present only in errors of feedback requests. */
    readonly msg_ids?: readonly string[];
  };
}

/** Creates the response body for an error. */
export function errorBody(error: unknown): ErrorBody {
  const { type, code } = classify(error);
  const { param, msgIds } = detailsOf(error);
  return {
    error: {
      message: describeError(error),
      type,
      param: typeof param === 'string' ? param : null,
      code,
      ...(Array.isArray(msgIds) && { msg_ids: msgIds as readonly string[] }),
    },
  };
}

/**
 * Creates the HTTP response for an error. Sets the header `Allow` for status 405, and `Retry-After`
 * if the error specifies a delay. Sets `x-should-retry: false` if a retry cannot succeed, because
 * some clients retry after any conflict.
 */
export function errorResponse(error: unknown): Response {
  const { status } = classify(error);
  const headers = new Headers();
  const details = detailsOf(error);
  for (const [detail, name] of Object.entries(headerOfDetail)) {
    const value = details[detail];
    if (typeof value === 'string' || typeof value === 'number') headers.set(name, `${value}`);
  }
  if (status < 500 && !temporaryStatuses.has(status)) headers.set('x-should-retry', 'false');
  return Response.json(errorBody(error), { status, headers });
}

const detailsOf = (error: unknown): Readonly<Record<string, unknown>> =>
  error instanceof ModelError ? error.details : {};

const temporaryStatuses = new Set([408, 429]);

const headerOfDetail = { allow: 'allow', retryAfter: 'retry-after' };

/**
 * Calls `onFault` if the error is a server fault, and returns an error for the client without the
 * original message and cause, which may contain file names and addresses of this machine. Returns
 * the error unchanged if it is not a server fault, if it tells the client when to retry
 * (`details.retryAfter`), or if `onFault` is undefined.
 */
export function withoutCause(
  error: unknown,
  onFault: ((error: unknown) => void) | undefined,
): unknown {
  const { status, code } = classify(error);
  const details = detailsOf(error);
  if (!onFault || status < 500 || details['retryAfter'] !== undefined) return error;
  onFault(error);
  const retryable = error instanceof ModelError ? error.retryable : true;
  const message = 'The server failed to answer. Its log has the cause.';
  return new ModelError(message, { status, code, retryable, details });
}

/** Creates the error with which a server that is shutting down rejects requests. */
export const stopping = (): ModelError =>
  new ModelError('The server is stopping. Repeat the request when it is back.', {
    status: 503,
    code: 'stopping',
    retryable: true,
    // Seconds after which a restarted server is expected to be available.
    details: { retryAfter: 5 },
  });

interface ErrorClass {
  readonly status: number;
  readonly type: string;
  readonly code: string;
}

/** OpenAI's error types, keyed by HTTP status. */
const typeOfStatus: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  429: 'rate_limit_error',
};

/**
 * Returns the HTTP status, type and code for an error. Only server faults have a 5xx status,
 * because clients retry after 5xx. The status 499 (client disconnected) appears only in logs.
 */
function classify(error: unknown): ErrorClass {
  if (error instanceof ModelError) {
    const { status, code } = error;
    const type = status < 500 ? 'invalid_request_error' : 'server_error';
    return { status, type: typeOfStatus[status] ?? type, code };
  }
  if (error instanceof CancelledError) {
    return error.code === 'CLIENT_GONE'
      ? { status: 499, type: 'client_gone', code: 'client_closed_request' }
      : { status: 409, type: 'rollout_ended', code: 'rollout_cancelled' };
  }
  return { status: 500, type: 'server_error', code: 'internal_error' };
}
