/** Errors as OpenAI's servers answer them. */
import { CancelledError, describeError, ModelError } from '@trinity-rft/core';

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
 * The body with the status and headers that go with it: `Allow` for 405, `Retry-After` for 429, and
 * word to clients that repeat calls by themselves (a conflict, say) where that would not help.
 */
export function errorResponse(error: unknown): Response {
  const { status } = classify(error);
  const headers = Object.entries(headerOf).flatMap(([key, name]) => {
    const value = error instanceof ModelError ? error.details[key] : undefined;
    return typeof value === 'string' || typeof value === 'number'
      ? [[name, `${value}`] as [string, string]]
      : [];
  });
  if (status < 500 && !passing.has(status)) headers.push(['x-should-retry', 'false']);
  return Response.json(errorBody(error), { status, headers });
}

/** Statuses of states that pass. */
const passing = new Set([408, 429]);

/** Header that says what a detail of an error says. */
const headerOf = { allow: 'allow', retryAfter: 'retry-after' };

interface ErrorClass {
  readonly status: number;
  readonly type: string;
  readonly code: string;
}

/** Types by status, as clients know them. */
const types: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  429: 'rate_limit_error',
};

/** 5xx is for real faults: clients repeat those calls. 499 is read by nobody but logs. */
function classify(error: unknown): ErrorClass {
  if (error instanceof ModelError) {
    const { status, code } = error;
    return {
      status,
      type: types[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error'),
      code,
    };
  }
  if (error instanceof CancelledError) {
    if (error.code === 'CLIENT_GONE')
      return { status: 499, type: 'client_gone', code: 'client_closed_request' };
    return { status: 409, type: 'rollout_ended', code: 'rollout_cancelled' };
  }
  return { status: 500, type: 'server_error', code: 'internal_error' };
}
