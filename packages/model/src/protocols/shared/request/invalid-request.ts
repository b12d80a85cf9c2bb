/** The error for what a client should not have sent. */
import { ModelError } from '@trinity-rft/core';

export interface RefusalOptions {
  /** @default 400 */
  readonly status?: number;
  /** @default "invalid_request" */
  readonly code?: string;
  readonly cause?: unknown;
}

/** Reads "`param` `what`. Expected `expected`."; `param` is the path of the field. */
export function refusal(
  param: string,
  what: string,
  expected: string,
  options: RefusalOptions = {},
): ModelError {
  const { status = 400, code = 'invalid_request', cause } = options;
  return new ModelError(`${param} ${what}. Expected ${expected}.`, {
    status,
    code,
    cause,
    details: { param },
  });
}

/** A client's value for a message, not longer than a line. */
export function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 80)}...` : text;
}
