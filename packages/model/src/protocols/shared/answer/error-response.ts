/** Errors in OpenAI's format, which all routes of the endpoint use. */
import { describeError, ModelError, CancelledError } from '@trinity-rft/core';

export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string;
  };
}

export function errorBody(error: unknown): ErrorBody {
  const { type, code } = classify(error);
  const param = error instanceof ModelError ? error.details['param'] : undefined;
  return {
    error: {
      message: describeError(error),
      type,
      param: typeof param === 'string' ? param : null,
      code,
    },
  };
}

/**
 * Creates the response for an error. Sets the header `Allow` for 405, `Retry-After` for 429, and
 * `x-should-retry: false` if a retry cannot succeed. Some clients would otherwise retry after a
 * conflict.
 */
export function errorResponse(error: unknown): Response {
  const { status } = classify(error);
  const headers = new Headers();
  for (const [detail, name] of Object.entries(headerOfDetail)) {
    const value = error instanceof ModelError ? error.details[detail] : undefined;
    if (typeof value === 'string' || typeof value === 'number') headers.set(name, `${value}`);
  }
  if (status < 500 && !temporaryStatuses.has(status)) headers.set('x-should-retry', 'false');
  return Response.json(errorBody(error), { status, headers });
}

const temporaryStatuses = new Set([408, 429]);

const headerOfDetail = { allow: 'allow', retryAfter: 'retry-after' };

interface ErrorClass {
  readonly status: number;
  readonly type: string;
  readonly code: string;
}

/** OpenAI's error types, by HTTP status. */
const typeOfStatus: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  429: 'rate_limit_error',
};

/**
 * Returns the status and type of an error. Only faults of the server have a status of 5xx, because
 * clients retry after 5xx. The status 499 appears only in logs.
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
