/** The error for an invalid client request. */
import { ModelError } from '@trinity-rft/core';

export interface InvalidRequestOptions {
  /** HTTP status. @default 400 */
  readonly status?: number;
  /** Error code. @default "invalid_request" */
  readonly code?: string;
  readonly cause?: unknown;
}

/**
 * Creates the error "`param` `what`. Expected `expected`."
 * @param param path of the field in the request
 */
export function invalidRequest(
  param: string,
  what: string,
  expected: string,
  options: InvalidRequestOptions = {},
): ModelError {
  const { status = 400, code = 'invalid_request', cause } = options;
  return new ModelError(`${param} ${what}. Expected ${expected}.`, {
    status,
    code,
    cause,
    details: { param },
  });
}

/** Returns a client's value as JSON for an error message, cut after 80 characters. */
export function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 80)}...` : text;
}
