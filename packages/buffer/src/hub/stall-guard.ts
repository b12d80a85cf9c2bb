/** A timeout that restarts whenever data arrives, for downloads of unknown duration. */
import { TrinityError, type Clock, CancelledError } from '@trinity-rft/core';

/**
 * Options of every download. `report` is required, so that long downloads and stalls are logged.
 */
export interface DownloadOptions {
  readonly clock: Clock;
  /** Maximum number of milliseconds without progress. */
  readonly stallMs: number;
  readonly signal: AbortSignal | undefined;
  /** Receives log lines about downloads and waits. */
  readonly report: (line: string) => void;
}

export interface StallGuardOptions extends DownloadOptions {
  /** Host or URL of the download, for messages, such as `https://huggingface.co`. */
  readonly what: string;
}

/**
 * Milliseconds without progress before the first log line about a stall. For each further line,
 * this time doubles.
 */
const silentMs = 5000;

export interface StallGuard {
  /** Signal that aborts when the caller's signal does, or after `stallMs` without progress. */
  readonly signal: AbortSignal;
  /** Restarts the timeout. Must be called whenever data arrives. */
  readonly progress: () => void;
}

/**
 * Calls `work` with a guard, whose signal `work` must use.
 * @throws CancelledError (`timeout`) after `stallMs` without progress; the caller's reason if the
 * caller aborts
 */
export async function guardStalls<T>(
  options: StallGuardOptions,
  work: (guard: StallGuard) => Promise<T>,
): Promise<T> {
  const { clock, stallMs, what, report } = options;
  const stall = new AbortController();
  const done = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stall.signal]) : stall.signal;
  let last = clock.now();
  let told = 0;
  const watch = async (): Promise<void> => {
    while (!signal.aborted) {
      const silence = clock.now() - last;
      const next = silentMs * 2 ** told;
      const left = Math.min(stallMs, next) - silence;
      if (left > 0) await clock.sleep(left, done.signal);
      else if (silence >= next) {
        told += 1;
        report(`Waiting for ${what} (${Math.round(silence / 1000)} s until now).`);
      } else stall.abort(stalled(what, stallMs));
    }
  };
  const progress = (): void => {
    [last, told] = [clock.now(), 0];
  };
  const watching = watch().catch(() => undefined);
  try {
    return await work({ signal, progress });
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
