/** Exit codes of the process. */
import { ConfigError, EnvironmentError, TaskError } from '@trinity-rft/core';
import { failureText } from '@trinity-rft/core/support';

export const exitCodes = {
  done: 0,
  failed: 1,
  /** An error that the user must fix, such as an invalid argument, configuration or task set. */
  userError: 2,
  /** An environment failed for longer than runs may wait. */
  environmentDown: 3,
  /** An evaluation does not meet an expectation. */
  belowExpectation: 4,
  interrupted: 130,
} as const;

export interface Failure {
  readonly exitCode: number;
  readonly message: string;
}

/** Returns the exit code and the message for an error. */
export function toFailure(error: unknown): Failure {
  const message = failureText(error);
  if (error instanceof ConfigError || error instanceof TaskError)
    return { exitCode: exitCodes.userError, message };
  const isDown = error instanceof EnvironmentError && error.code === 'ENVIRONMENT_DOWN';
  const exitCode = isDown ? exitCodes.environmentDown : exitCodes.failed;
  return { exitCode, message };
}
