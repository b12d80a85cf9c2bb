/**
 * Calls remote models. Enforces the deadline of a call, and converts failures to errors of Trinity.
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
 * Calls `work` with a signal that aborts at the deadline, or when the rollout or the call is
 * aborted.
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

/** Returns a phrase that names the model and can begin a sentence. */
export const remoteName = ({
  kind = 'auxiliary',
  modelPath,
  baseURL,
}: RemoteModelOptions): string => `The ${kind} model "${modelPath}" at ${new URL(baseURL).host}`;

/**
 * Finds an error of Trinity among an error's causes, because clients wrap the errors of their fetch
 * function.
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
  const reason = describeError(error)
    .replaceAll(options.apiKey === '' ? /(?!)/ : options.apiKey, '[redacted]')
    .replace(/\.$/, '');
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
  /** Name of the model in its service. */
  readonly modelPath: string;
  /** Settings of calls that do not set these fields. @default the service's defaults */
  readonly defaults?: Pick<ChatOptions, 'temperature' | 'topP' | 'maxTokens'>;
  /**
   * Value of `chat_template_kwargs.enable_thinking` in requests, which vLLM and SGLang read.
   * @default not sent
   */
  readonly enableThinking?: boolean;
  /** Deadline of one call including its retries, in milliseconds. */
  readonly timeoutMs: number;
  /** Number of retries of a call after a transient failure. @default 2 */
  readonly maxRetries?: number;
  /** Signal that aborts every call. */
  readonly signal?: AbortSignal;
  /**
   * Set to which this model's name is added while a call waits for its service.
   * @default no record of waits
   */
  readonly waits?: Set<string>;
  /** Function that sends requests. @default the global `fetch` */
  readonly fetch?: typeof globalThis.fetch;
}
