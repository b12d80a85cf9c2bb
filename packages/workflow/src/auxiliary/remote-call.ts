/** One call of a remote model: its deadline, and its failures as our errors. */
import { ModelError, TrinityError } from '@trinity-rft/core';
import { CancelledError } from '@trinity-rft/core/internal';
import type { RemoteModelOptions } from './remote-model.js';

/** The longest delay of a timer, in milliseconds. */
export const longestTimer = 2 ** 31 - 1;

/**
 * Aborts at the deadline, or when the signal of the run or of the call aborts.
 * @throws ModelError, CancelledError
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
    throw explain(error, { signal, deadline, options });
  }
}

interface Circumstances {
  readonly signal: AbortSignal;
  readonly deadline: AbortSignal;
  readonly options: RemoteModelOptions;
}

/**
 * Names the model that failed. The error has no `cause`, because the errors of client libraries
 * hold the request, which holds the key.
 */
function explain(error: unknown, { signal, deadline, options }: Circumstances): TrinityError {
  const what = `The auxiliary model "${options.modelPath}" at ${new URL(options.baseURL).host}`;
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
  const { status, message } = error as { readonly status?: number; readonly message?: string };
  const reason = String(message ?? error).replaceAll(
    options.apiKey === '' ? /(?!)/ : options.apiKey,
    '[redacted]',
  );
  if (status === undefined)
    return new ModelError(`${what} could not be reached: ${reason} Check base_url.`, {
      status: 502,
      code: 'unreachable',
      retryable: true,
    });
  return new ModelError(`${what} answered ${reason}`, {
    status,
    code: 'remote_error',
    retryable: status === 429 || status >= 500,
  });
}
