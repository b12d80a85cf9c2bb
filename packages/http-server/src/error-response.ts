/** Errors in OpenAI's format, which our servers use. */
import { CancelledError, describeError, ModelError } from '@trinity-rft/core';

export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string;
    /** Ids that the error is about; present only in errors of feedback requests. */
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
 * Creates the response for an error. Sets the header `Allow` for 405, `Retry-After` if the error
 * specifies the delay, and `x-should-retry: false` if a retry cannot succeed, because some clients
 * would otherwise retry after a conflict.
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
 * Passes a server fault to `onFault`, and returns the error for the client: a ModelError unchanged,
 * any other fault as a general error, because its cause may name files of this machine. Returns all
 * other errors unchanged, and every error if `onFault` is undefined.
 */
export function withoutCause(
  error: unknown,
  onFault: ((error: unknown) => void) | undefined,
): unknown {
  if (!onFault || classify(error).status < 500) return error;
  onFault(error);
  if (error instanceof ModelError) return error;
  return new ModelError('The server failed to answer. Its log has the cause.', {
    status: 500,
    code: 'internal_error',
    retryable: true,
  });
}

/** Creates the error for requests to a server that is stopping. */
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
 * Returns the status, type and code of an error. Only server faults have a status of 5xx, because
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
