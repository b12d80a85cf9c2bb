/** Classifies why an attempt failed: the agent, its deadline, or a server that it called. */
import { ConfigError, ModelError, TrinityError, WorkflowError } from '@trinity-rft/core';
import { CancelledError } from '@trinity-rft/core/internal';

export type FailureKind = 'failed' | 'timed_out' | 'prompt_too_long';

export interface Failure {
  readonly kind: FailureKind;
  readonly error: TrinityError;
}

/**
 * Finds a known error among the causes, or an answer of a model server in an error of its client.
 * Any other error becomes a WorkflowError `WORKFLOW_THREW`.
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

/** The agent itself failed: no deadline, engine or reward function did. */
export function isOwnFailure({ kind, error }: Failure): boolean {
  return (
    kind === 'prompt_too_long' ||
    (error instanceof WorkflowError && error.code === 'WORKFLOW_THREW')
  );
}

/**
 * False if the next attempt would fail in the same way: wrong configuration, and requests that a
 * model rejects, such as one whose prompt is too long.
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

/** Chains of causes may be circular. */
const maxCauses = 16;

/** The error itself or the first known one among its causes: client libraries wrap our errors. */
function findKnown(error: unknown): TrinityError | undefined {
  let current = error;
  for (let depth = 0; depth < maxCauses && current instanceof Error; depth++) {
    const known = TrinityError.is(current) ? current : serverAnswer(current);
    if (known) return known;
    current = current.cause;
  }
  return undefined;
}

/** Where errors of the `openai` package and the AI SDK keep status and code. */
interface ClientError {
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly code?: unknown;
  readonly data?: { readonly error?: { readonly code?: unknown } | null } | null;
}

/**
 * The server's answer behind a client error, if the agent alone is not to blame: the prompt is too
 * long, or the server of the model or of a tool fails or is busy. Other rejected requests are the
 * agent's own fault.
 */
function serverAnswer(error: Error): ModelError | undefined {
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
    code: typeof code === 'string' ? code : undefined,
  });
}
