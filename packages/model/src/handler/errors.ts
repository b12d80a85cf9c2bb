/** Errors as OpenAI's servers answer them. */
import { CancelledError, describeError, ModelError } from '@trinity-rft/core';

/** `{ error: { message, type, param, code } }` with the status that goes with it. */
export function errorResponse(error: unknown): Response {
  const { status, type, code } = classify(error);
  const param = error instanceof ModelError ? error.details['param'] : undefined;
  const body = { error: { message: describeError(error), type, param: param ?? null, code } };
  return Response.json(body, { status });
}

interface ErrorClass {
  readonly status: number;
  readonly type: string;
  readonly code: string;
}

/** 5xx is for real faults: clients repeat those calls. */
function classify(error: unknown): ErrorClass {
  if (error instanceof ModelError) {
    return { status: error.status, type: error.status < 500 ? 'invalid_request_error' : 'server_error', code: error.code };
  }
  if (error instanceof CancelledError) return { status: 409, type: 'rollout_ended', code: 'rollout_cancelled' };
  return { status: 500, type: 'server_error', code: 'internal_error' };
}
