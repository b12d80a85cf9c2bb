/** Classifies why an attempt failed: the agent, its deadline, or a server that it called. */
import {
  ConfigError,
  EnvironmentError,
  ModelError,
  TrinityError,
  WorkflowError,
  CancelledError,
} from '@trinity-rft/core';

/**
 * `environment_failed`: the environment broke, whatever the policy did in it. `environment_crashed`: the
 * same action broke it in its last attempts, three or more. `service_failed`: a tool
 * or service that the agent called, not the agent. `cancelled`: the explore step did not wait for the
 * run.
 */
export type FailureKind =
  | 'failed'
  | 'timed_out'
  | 'prompt_too_long'
  | 'environment_failed'
  | 'environment_crashed'
  | 'service_failed'
  | 'cancelled';

export interface Failure {
  readonly kind: FailureKind;
  readonly error: TrinityError;
}

/** How an attempt spent its time until it failed. */
export interface SpentTime {
  readonly elapsedMs: number;
  /** See `PauseMeter`. */
  readonly longestPauseMs: number;
}

/**
 * Finds a known error among the causes, or an answer of a server in an error of its client. Any other
 * error becomes a WorkflowError: `SERVICE_FAILED` if something that the agent called could not be
 * reached or hung, else `WORKFLOW_THREW`.
 */
export function classifyFailure(error: unknown, workflow: string, spent: SpentTime): Failure {
  const known = findKnown(error);
  if (known instanceof CancelledError && known.code === 'ATTEMPT_TIMEOUT')
    return hung(spent)
      ? { kind: 'service_failed', error: waitedInVain(known, spent) }
      : { kind: 'timed_out', error: known };
  if (known instanceof CancelledError && known.code === 'TASK_CUT_OFF')
    return { kind: 'cancelled', error: known };
  if (known instanceof CancelledError && known.code === 'TASK_TIMEOUT')
    return { kind: 'timed_out', error: known };
  if (known instanceof CancelledError && known.reason === 'timeout')
    return { kind: 'service_failed', error: known };
  if (known instanceof EnvironmentError) return { kind: 'environment_failed', error: known };
  if (known instanceof ModelError && known.code === 'context_length_exceeded')
    return { kind: 'prompt_too_long', error: known };
  if (known instanceof ModelError && isBusy(known.status))
    return { kind: 'service_failed', error: known };
  if (known) return { kind: 'failed', error: known };
  if (isUnreachable(error) || (isTimeout(error) && hung(spent)))
    return {
      kind: 'service_failed',
      error: new WorkflowError(`A tool or service of workflow "${workflow}" did not answer.`, {
        code: 'SERVICE_FAILED',
        cause: error,
      }),
    };
  return {
    kind: 'failed',
    error: new WorkflowError(`Workflow "${workflow}" threw.`, {
      code: 'WORKFLOW_THREW',
      cause: error,
    }),
  };
}

/**
 * The agent itself failed, or ran out of time by its own calls: no engine, service or reward
 * function did.
 */
export function isOwnFailure({ kind, error }: Failure): boolean {
  return (
    kind === 'prompt_too_long' ||
    // The deadline of a task also ends runs that have hardly begun.
    (kind === 'timed_out' && error.code !== 'TASK_TIMEOUT') ||
    (error instanceof WorkflowError && error.code === 'WORKFLOW_THREW')
  );
}

/**
 * One wait for something else than the model took half of the time or more: the agent was kept. An
 * agent that samples on, or waits often and briefly, spends its time itself.
 */
const hung = ({ elapsedMs, longestPauseMs }: SpentTime): boolean => longestPauseMs >= elapsedMs / 2;

const waitedInVain = (late: CancelledError, { longestPauseMs }: SpentTime): CancelledError =>
  new CancelledError(
    `${late.message} It waited for a tool or service for ${(longestPauseMs / 1000).toFixed(1)} s, so it is not trained on.`,
    { reason: 'timeout', code: late.code, cause: late },
  );

/**
 * False if the next attempt would fail in the same way: wrong configuration, and requests that a
 * model rejects, such as one whose prompt is too long.
 */
export function isWorthRetrying(error: Error): boolean {
  if (error instanceof ConfigError) return false;
  if (TrinityError.is(error) && /^(?:REWARD_MISSING|MODEL_BYPASSED)$/.test(error.code))
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

/** The error and its causes, outermost first. */
function chainOf(error: unknown): readonly Error[] {
  const chain: Error[] = [];
  for (
    let current = error;
    current instanceof Error && chain.length < maxCauses;
    current = current.cause
  )
    chain.push(current);
  return chain;
}

const codeOf = (error: Error): string => {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : '';
};

/** Codes of Node.js and of its fetch. */
const isUnreachable = (error: unknown): boolean =>
  chainOf(error).some((each) =>
    /^(?:ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EPIPE|ETIMEDOUT|UND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT|UND_ERR_SOCKET)$/.test(
      codeOf(each),
    ),
  );

/** That of `AbortSignal.timeout`, and of clients such as openai's. */
const isTimeout = (error: unknown): boolean =>
  chainOf(error).some(({ name }) => /^(?:TimeoutError|APIConnectionTimeoutError)$/.test(name));

/** The error itself or the first known one among its causes: client libraries wrap our errors. */
function findKnown(error: unknown): TrinityError | undefined {
  for (const each of chainOf(error)) {
    const known = TrinityError.is(each) ? each : serverAnswer(each);
    if (known) return known;
  }
  return undefined;
}

const isBusy = (status: number): boolean => status >= 500 || status === 429;

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
  const busy = isBusy(status);
  if (!busy && code !== 'context_length_exceeded') return undefined;
  return new ModelError(error.message, {
    status,
    retryable: busy,
    cause: error,
    code: typeof code === 'string' ? code : undefined,
  });
}
