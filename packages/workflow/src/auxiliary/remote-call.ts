/** One call of a remote model: how long it may take, and what its failures are called. */
import { CancelledError, ModelError, TrinityError } from '@trinity-rft/core';
import type { RemoteModelOptions } from './remote-model.js';

/** What a Node timer can wait. */
export const longestTimer = 2 ** 31 - 1;

/** Ends at the deadline, with the run, or with the call. @throws ModelError, CancelledError */
export async function remoteCall<T>(
  options: RemoteModelOptions,
  ofCall: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = AbortSignal.timeout(Math.min(options.timeoutMs, longestTimer));
  const signal = AbortSignal.any([
    deadline,
    ...[options.signal, ofCall].filter((one) => one !== undefined),
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
 * Says which model failed. Never holds the key: causes are left out, since client libraries keep
 * the request in their errors.
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
      : new CancelledError(`The call of ${what} was given up.`, {
          code: 'CALL_ABORTED',
          reason: 'aborted',
        });
  }
  if (TrinityError.is(error)) return error;
  const { status, message } = error as { readonly status?: number; readonly message?: string };
  const said = String(message ?? error).replaceAll(
    options.apiKey === '' ? /(?!)/ : options.apiKey,
    '[redacted]',
  );
  if (status === undefined)
    return new ModelError(`${what} could not be reached: ${said} Check base_url.`, {
      status: 502,
      code: 'unreachable',
      retryable: true,
    });
  return new ModelError(`${what} answered ${said}`, {
    status,
    code: 'remote_error',
    retryable: status === 429 || status >= 500,
  });
}
