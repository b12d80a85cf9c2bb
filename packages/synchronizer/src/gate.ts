/**
 * Waits for conditions on shared state, with a deadline. State changes wake the waiters, so nothing
 * is polled.
 */
import { type Clock, CancelledError, SyncError } from '@trinity-rft/core';

interface WaitOptions {
  /**
   * Noun phrase that names the awaited event in messages, such as "new weights from the trainer".
   */
  readonly what: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}

/**
 * Lets callers wait for a condition. Code that changes the state calls `notify`, and each waiter
 * then evaluates its condition again.
 */
export interface Gate {
  notify(): void;
  /** Makes all current and later waits reject with a SyncError whose cause is `error`. */
  fail(error: Error): void;
  /**
   * Resolves with true when `condition` is true, or with false if the deadline passes first.
   * @throws SyncError `SYNC_PEER_FAILED` after `fail`, or CancelledError on abort
   */
  wait(condition: () => boolean | Promise<boolean>, options: WaitOptions): Promise<boolean>;
}

export function createGate(): Gate {
  let failure: Error | undefined;
  const waiting = new Set<() => void>();
  const notify = (): void => {
    for (const wake of [...waiting]) wake();
  };

  const change = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const wake = (): void => {
        waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });

  return {
    notify,
    fail: (error) => {
      failure ??= error;
      notify();
    },
    wait: async (condition, { what, timeoutMs, clock, signal }) => {
      const deadline = new AbortController();
      const stop = signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal;
      let late = false;
      const timer = clock.sleep(timeoutMs, stop).then(
        () => {
          late = true;
          notify();
        },
        () => undefined,
      );
      try {
        for (;;) {
          if (failure)
            throw new SyncError(`Stopped waiting for ${what}: the other side failed.`, {
              code: 'SYNC_PEER_FAILED',
              cause: failure,
            });
          if (signal?.aborted)
            throw new CancelledError(`Stopped while waiting for ${what}.`, {
              reason: 'shutdown',
              cause: signal.reason,
            });
          // Subscribes before it evaluates the condition, so that no change in between is missed.
          const changed = change(stop);
          if (await condition()) return true;
          if (late) return false;
          await changed;
        }
      } finally {
        deadline.abort();
        await timer;
      }
    },
  };
}
