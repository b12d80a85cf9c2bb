/** What the process ends with: 0 done, 1 our failure, 2 the user's mistake, 130 interrupted. */
import { ConfigError, describeError, TaskError } from '@trinity-rft/core';

export const exitCodes = { done: 0, failed: 1, userError: 2, interrupted: 130 } as const;

export interface Failure {
  readonly exitCode: number;
  readonly message: string;
}

/**
 * User errors are their message alone; ours name the first cause and keep the stack for the report.
 */
export function toFailure(error: unknown): Failure {
  if (error instanceof ConfigError || error instanceof TaskError)
    return { exitCode: exitCodes.userError, message: error.message };
  return { exitCode: exitCodes.failed, message: describeError(error) };
}
