/** A timeout that starts again with every progress: for downloads of unknown length. */
import { TrinityError, type Clock, CancelledError } from '@trinity-rft/core';

export interface StallGuardOptions {
  readonly clock: Clock;
  /** Longest time without progress. */
  readonly stallMs: number;
  /** For messages: `huggingface.co/...`. */
  readonly what: string;
  readonly signal?: AbortSignal;
}

export interface StallGuard {
  /** Aborts when the caller does, or after too long without progress. */
  readonly signal: AbortSignal;
  /** Something arrived. */
  progress(): void;
}

/**
 * Runs `work` under a guard.
 * @throws CancelledError (`timeout`) after too long without progress; the caller's reason when the
 * caller aborts
 */
export async function guardStalls<T>(
  options: StallGuardOptions,
  work: (guard: StallGuard) => Promise<T>,
): Promise<T> {
  const { clock, stallMs, what } = options;
  const stall = new AbortController();
  const done = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stall.signal]) : stall.signal;
  let last = clock.now();
  const watch = async (): Promise<void> => {
    while (!signal.aborted) {
      const left = last + stallMs - clock.now();
      if (left <= 0) stall.abort(stalled(what, stallMs));
      else await clock.sleep(left, done.signal);
    }
  };
  const watching = watch().catch(() => undefined);
  try {
    return await work({ signal, progress: () => (last = clock.now()) });
  } catch (error) {
    throw signal.aborted ? cancelled(what, signal.reason) : error;
  } finally {
    done.abort();
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
