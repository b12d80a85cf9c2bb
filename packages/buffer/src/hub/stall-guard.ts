/** A deadline that moves on with every sign of life: for downloads whose length nobody knows. */
import { CancelledError, TrinityError, type Clock } from '@trinity-rft/core';

export interface StallGuardOptions {
  readonly clock: Clock;
  /** Longest silence, in milliseconds. */
  readonly stallMs: number;
  /** What is waited for, for the message: `huggingface.co/...`. */
  readonly what: string;
  readonly signal?: AbortSignal | undefined;
}

export interface StallGuard {
  /** Aborts when the caller does, or after too long a silence. */
  readonly signal: AbortSignal;
  /** Something arrived. */
  progress(): void;
}

/**
 * Runs `work` under a guard.
 * @throws CancelledError (`timeout`) after a silence, the caller's own when the caller aborts
 */
export async function guardStalls<T>(
  options: StallGuardOptions,
  work: (guard: StallGuard) => Promise<T>,
): Promise<T> {
  const { clock, stallMs, what } = options;
  const silence = new AbortController();
  const ended = new AbortController();
  const signal = options.signal
    ? AbortSignal.any([options.signal, silence.signal])
    : silence.signal;
  let last = clock.now();
  const watch = async (): Promise<void> => {
    while (!signal.aborted) {
      const left = last + stallMs - clock.now();
      if (left <= 0) silence.abort(stalled(what, stallMs));
      else await clock.sleep(left, ended.signal);
    }
  };
  const watching = watch().catch(() => undefined);
  try {
    return await work({ signal, progress: () => (last = clock.now()) });
  } catch (error) {
    throw signal.aborted ? cancelled(what, signal.reason) : error;
  } finally {
    ended.abort();
    await watching;
  }
}

function stalled(what: string, stallMs: number): CancelledError {
  return new CancelledError(`Nothing came from ${what} for ${stallMs / 1000} s.`, {
    code: 'DOWNLOAD_STALLED',
    reason: 'timeout',
  });
}

function cancelled(what: string, reason: unknown): unknown {
  return TrinityError.is(reason)
    ? reason
    : new CancelledError(`Waiting for ${what} was cancelled.`, {
        code: 'DOWNLOAD_CANCELLED',
        reason: 'aborted',
        cause: reason,
      });
}
