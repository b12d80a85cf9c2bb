/**
 * Calls remote models. Enforces the deadline of a call, and converts failures to this project's
 * error classes.
 */
import {
  CancelledError,
  describeError,
  ModelError,
  TrinityError,
  type ChatOptions,
} from '@trinity-rft/core';
import { causesOf, longestTimer } from '@trinity-rft/core/support';

/**
 * Calls `work` with a signal that aborts at the deadline, when the rollout ends, or when
 * `callSignal` aborts.
 * @throws ModelError if the call fails, or CancelledError if it is aborted
 */
export async function remoteCall<T>(
  options: RemoteModelOptions,
  callSignal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = AbortSignal.timeout(Math.min(options.timeoutMs, longestTimer));
  const signal = AbortSignal.any([
    deadline,
    ...[options.signal, callSignal].filter((one) => one !== undefined),
  ]);
  try {
    return await work(signal);
  } catch (error) {
    throw explainRemote(error, { signal, deadline, options });
  }
}

/** Returns a noun phrase that names the model, for the beginning of an error message. */
export const remoteName = ({
  kind = 'auxiliary',
  modelPath,
  baseURL,
}: RemoteModelOptions): string => `The ${kind} model "${modelPath}" at ${new URL(baseURL).host}`;

/** Replaces the API key in a text of the service. */
export const redacted = (text: string, { apiKey }: RemoteModelOptions): string =>
  apiKey === '' ? text : text.replaceAll(apiKey, '[redacted]');

/** Returns the name of the model as the fetch function appends it to error messages. */
export const nameSuffix = (options: RemoteModelOptions): string =>
  ` (${remoteName(options).replace('The', 'the')})`;

/**
 * Finds a TrinityError among the causes of an error, because client libraries wrap the errors that
 * their fetch function throws.
 */
const ownCause = (error: unknown): TrinityError | undefined =>
  causesOf(error).find((cause) => TrinityError.is(cause));

interface Circumstances {
  readonly signal: AbortSignal;
  readonly deadline: AbortSignal;
  readonly options: RemoteModelOptions;
}

/**
 * Returns an error that names the model that failed. The error has no `cause`, because errors of
 * client libraries contain the request, and with it the API key.
 */
export function explainRemote(
  error: unknown,
  { signal, deadline, options }: Circumstances,
): TrinityError {
  const what = remoteName(options);
  const known = ownCause(error);
  if (known instanceof ModelError) return known;
  if (deadline.aborted && signal.reason === deadline.reason) {
    return new ModelError(`${what} did not answer within ${options.timeoutMs / 1000} s.`, {
      status: 504,
      code: 'timeout',
      retryable: true,
    });
  }
  if (signal.aborted) {
    const { reason } = signal;
    return TrinityError.is(reason)
      ? reason
      : new CancelledError(`${what}: the call was aborted.`, {
          code: 'CALL_ABORTED',
          reason: 'aborted',
        });
  }
  if (TrinityError.is(error)) return error;
  const { status } = error as { readonly status?: number };
  const reason = redacted(describeError(error).replace(nameSuffix(options), ''), options).replace(
    /\.$/,
    '',
  );
  if (error instanceof SyntaxError)
    return new ModelError(`${what} answered with something that is not JSON: ${reason}.`, {
      status: 502,
      code: 'remote_error',
      retryable: true,
    });
  if (status === undefined)
    return new ModelError(`${what} could not be reached: ${reason}. Check base_url.`, {
      status: 502,
      code: 'unreachable',
      retryable: true,
    });
  return new ModelError(`${what} answered ${reason}.`, {
    status,
    code: 'remote_error',
    retryable: status === 429 || status >= 500,
  });
}

export interface RemoteModelOptions {
  /** Kind of model, for error messages. @default "auxiliary" */
  readonly kind?: 'auxiliary' | 'external';
  /** Root of the API, usually ending in `/v1`. */
  readonly baseURL: string;
  /** API key. It is sent to `baseURL`, and the workflow can read it through `endpoint()`. */
  readonly apiKey: string;
  /** Model name to send to the service. */
  readonly modelPath: string;
  /**
   * Settings for requests that do not set these fields.
   * @default undefined: the service's defaults apply
   */
  readonly defaults?: Pick<ChatOptions, 'temperature' | 'topP' | 'maxTokens'>;
  /**
   * Value of `chat_template_kwargs.enable_thinking` in requests, which vLLM and SGLang read.
   * @default undefined: the field is not sent
   */
  readonly enableThinking?: boolean;
  /** Deadline of one call including its retries, in milliseconds. */
  readonly timeoutMs: number;
  /** Number of retries of a call after a transient failure. @default 2 */
  readonly maxRetries?: number;
  /** Signal that aborts every call. */
  readonly signal?: AbortSignal;
  /**
   * Set that contains this model's name while a call to it is open, for reports of what a rollout
   * waits for.
   * @default undefined: open calls are not recorded
   */
  readonly waits?: Set<string>;
  /** Function that sends requests. @default the global `fetch` */
  readonly fetch?: typeof globalThis.fetch;
}
