/**
 * Classifies failed attempts by their cause: the agent, a deadline, an environment, a service or a
 * cut-off.
 */
import {
  ConfigError,
  EnvironmentError,
  ModelError,
  TrinityError,
  WorkflowError,
  CancelledError,
} from '@trinity-rft/core';
import { causesOf } from '@trinity-rft/core/support';

/**
 * Kind of failure. `environment_failed`: the environment broke. `environment_crashed`: the same
 * action, or the grade, broke the environment in at least three consecutive attempts.
 * `service_failed`: a tool or service that the agent called, or the reward function, kept the agent,
 * which did not fail itself. `cancelled`: the explore step did not wait for the rollout.
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

/** Duration of a failed attempt, its longest wait, and its calls. */
export interface SpentTime {
  readonly elapsedMs: number;
  /** Longest wait for something other than the model, see `PauseMeter`. */
  readonly longestPauseMs: number;
  /** Number of calls that the model has answered. @default unknown */
  readonly calls?: number;
}

/**
 * Classifies an error by the first known error among its causes, or by the status of the server's
 * response in an error of a client library. Any other error becomes a WorkflowError:
 * `SERVICE_FAILED` if a service that the agent called was unreachable or did not respond, otherwise
 * `WORKFLOW_THREW`.
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
 * Returns true if the agent itself failed, or spent its time on its own calls. Returns false if an
 * engine, service or reward function failed.
 */
export function isOwnFailure({
  kind,
  error,
}: {
  readonly kind: FailureKind;
  readonly error: Error;
}): boolean {
  return (
    kind === 'prompt_too_long' ||
    // The deadline of a task also ends runs that have hardly begun.
    (kind === 'timed_out' && !(TrinityError.is(error) && error.code === 'TASK_TIMEOUT')) ||
    (error instanceof WorkflowError && error.code === 'WORKFLOW_THREW')
  );
}

/**
 * Returns true if a single wait for something other than the model took at least half of the time.
 * The agent was then blocked. An agent that keeps sampling, or waits often and briefly, is not
 * blocked.
 */
const hung = ({ elapsedMs, longestPauseMs }: SpentTime): boolean => longestPauseMs >= elapsedMs / 2;

function waitedInVain(late: CancelledError, { longestPauseMs, calls }: SpentTime): CancelledError {
  const waited =
    calls === 0
      ? 'The model answered no call of it, and it waited for something else'
      : 'It waited for a tool or service';
  return new CancelledError(
    `${late.message} ${waited} for ${(longestPauseMs / 1000).toFixed(1)} s, so it is not trained on.`,
    { reason: 'timeout', code: late.code, cause: late },
  );
}

/**
 * Returns false if another attempt would fail in the same way: if the configuration is wrong, a
 * reward is missing, a scorer is invalid, the agent bypasses its model, or the model rejects a
 * request, for example because the prompt is too long.
 */
export function isWorthRetrying(error: Error): boolean {
  if (error instanceof ConfigError) return false;
  if (TrinityError.is(error) && /^(?:REWARD_MISSING|SCORER_FORM|MODEL_BYPASSED)$/.test(error.code))
    return false;
  return !(
    error instanceof ModelError &&
    error.status >= 400 &&
    error.status < 500 &&
    !error.retryable
  );
}

const codeOf = (error: Error): string => {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : '';
};

/** Returns true for error codes of Node.js and its fetch that mean an unreachable server. */
const isUnreachable = (error: unknown): boolean =>
  causesOf(error).some((each) =>
    /^(?:ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EPIPE|ETIMEDOUT|UND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT|UND_ERR_SOCKET)$/.test(
      codeOf(each),
    ),
  );

/** Returns true for the errors of `AbortSignal.timeout` and of clients such as openai's. */
const isTimeout = (error: unknown): boolean =>
  causesOf(error).some(({ name }) => /^(?:TimeoutError|APIConnectionTimeoutError)$/.test(name));

/**
 * Returns the first known error among the error itself and its causes, because client libraries
 * wrap errors of this project. Returns undefined if there is none.
 */
function findKnown(error: unknown): TrinityError | undefined {
  for (const each of causesOf(error)) {
    const known = TrinityError.is(each) ? each : serverAnswer(each);
    if (known) return known;
  }
  return undefined;
}

const isBusy = (status: number): boolean => status >= 500 || status === 429;

/** Statuses with which a service refuses a client: its key, its account, or its model. */
const refusals: ReadonlySet<number> = new Set([401, 402, 403, 404]);

/** Returns true for the text of an external model's error, also if a client quotes it as JSON. */
export const namesExternalModel = (text: string): boolean => /The external model \\*"/.test(text);

/** Fields that hold the status and code in errors of the `openai` package and the AI SDK. */
interface ClientError {
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly code?: unknown;
  readonly data?: { readonly error?: { readonly code?: unknown } | null } | null;
}

/**
 * Converts a client error to a ModelError if the prompt was too long, or if the server of the model
 * or of a tool failed or was busy, or an external model refused the call. Returns undefined for
 * other rejected requests, which are the agent's own fault.
 */
function serverAnswer(error: Error): ModelError | undefined {
  const { status: own, statusCode, code: ownCode, data } = error as ClientError;
  const status = own ?? statusCode;
  if (typeof status !== 'number') return undefined;
  const code = ownCode ?? data?.error?.code;
  const busy = isBusy(status);
  const isRefusal = refusals.has(status) && namesExternalModel(error.message);
  if (!busy && !isRefusal && code !== 'context_length_exceeded') return undefined;
  return new ModelError(error.message, {
    status,
    retryable: busy,
    cause: error,
    code: typeof code === 'string' ? code : undefined,
  });
}
