/** Exit codes of the process: 0 done, 1 a failure, 2 a mistake of the user, 130 interrupted. */
import { ConfigError, describeError } from '@trinity-rft/core';
import { redactText, TaskError } from '@trinity-rft/core/internal';

export const exitCodes = { done: 0, failed: 1, userError: 2, interrupted: 130 } as const;

export interface Failure {
  readonly exitCode: number;
  readonly message: string;
}

/** Errors that the user can fix are their message alone; others also name their causes. */
export function toFailure(error: unknown): Failure {
  if (error instanceof ConfigError || error instanceof TaskError)
    return { exitCode: exitCodes.userError, message: redactText(error.message) };
  return { exitCode: exitCodes.failed, message: redactText(describeError(error)) };
}
