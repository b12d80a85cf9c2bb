/** What ended an attempt: the agent, its deadline, or the model that it called. */
import {
  CancelledError,
  ConfigError,
  ModelError,
  TrinityError,
  WorkflowError,
} from '@trinity-rft/core';

export type FailureKind = 'failed' | 'timed_out' | 'prompt_too_long';

export interface Failure {
  readonly kind: FailureKind;
  readonly error: TrinityError;
}

/**
 * An error that is not ours, nor made of an answer of a model, becomes a WorkflowError
 * `WORKFLOW_THREW`.
 */
export function classifyFailure(error: unknown, workflow: string): Failure {
  const known = findKnown(error);
  if (known instanceof CancelledError && known.reason === 'timeout')
    return { kind: 'timed_out', error: known };
  if (known instanceof ModelError && known.code === 'context_length_exceeded')
    return { kind: 'prompt_too_long', error: known };
  if (known) return { kind: 'failed', error: known };
  return {
    kind: 'failed',
    error: new WorkflowError(`Workflow "${workflow}" threw.`, {
      code: 'WORKFLOW_THREW',
      cause: error,
    }),
  };
}

/** The agent itself failed: not its deadline, the engine, or a reward function. */
export function isOwnFailure({ kind, error }: Failure): boolean {
  return (
    kind === 'prompt_too_long' ||
    (error instanceof WorkflowError && error.code === 'WORKFLOW_THREW')
  );
}

/**
 * What is configured or written wrongly stays wrong, and a request that a model refuses, such as
 * one whose prompt does not fit, is refused again.
 */
export function isWorthRetrying(error: Error): boolean {
  if (error instanceof ConfigError || (TrinityError.is(error) && error.code === 'REWARD_MISSING'))
    return false;
  return !(
    error instanceof ModelError &&
    error.status >= 400 &&
    error.status < 500 &&
    !error.retryable
  );
}

/** Causes may go in circles. */
const mostCauses = 16;

/**
 * The error itself or the first that is known among its causes: client libraries wrap what the
 * model said.
 */
function findKnown(error: unknown): TrinityError | undefined {
  let current = error;
  for (let depth = 0; depth < mostCauses && current instanceof Error; depth++) {
    const known = TrinityError.is(current) ? current : answeredBy(current);
    if (known) return known;
    current = current.cause;
  }
  return undefined;
}

/**
 * Names of statuses and codes in the errors of clients: the `openai` package's, and the AI SDK's.
 */
interface ClientError {
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly code?: unknown;
  readonly data?: { readonly error?: { readonly code?: unknown } | null } | null;
}

/**
 * What an answer of a server says that clients made an error of, where that is no behaviour of the
 * agent: prompts that are too long, and servers that fail or are busy, be it the model's or that of
 * a tool. Other refusals the agent has brought about.
 */
function answeredBy(error: Error): ModelError | undefined {
  const { status: own, statusCode, code: ownCode, data } = error as ClientError;
  const status = own ?? statusCode;
  if (typeof status !== 'number') return undefined;
  const code = ownCode ?? data?.error?.code;
  const busy = status >= 500 || status === 429;
  if (!busy && code !== 'context_length_exceeded') return undefined;
  return new ModelError(error.message, {
    status,
    retryable: busy,
    cause: error,
    ...(typeof code === 'string' && { code }),
  });
}
