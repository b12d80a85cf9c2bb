/** Tracks requests in flight, so that a server can stop without losing a request. */
import type { Clock, Logger } from '@trinity-rft/core';
import { stopping } from '@trinity-rft/http-server';

export interface InFlightRequests {
  /** Registers a request as in flight. @throws ModelError 503 after {@link drain} was called */
  start(): void;
  finish(): void;
  /**
   * Stops accepting requests. Resolves when all accepted requests have finished, or after
   * `timeoutMs`.
   */
  drain(timeoutMs: number): Promise<void>;
}

export function trackInFlightRequests(clock: Clock, logger: Logger): InFlightRequests {
  let count = 0;
  let draining = false;
  let onIdle: (() => void) | undefined;
  return {
    start: () => {
      if (draining) throw stopping();
      count++;
    },
    finish: () => {
      if (--count === 0) onIdle?.();
    },
    drain: async (timeoutMs) => {
      draining = true;
      if (count === 0) return;
      const timer = new AbortController();
      const idle = new Promise<void>((resolve) => (onIdle = resolve));
      const late = clock.sleep(timeoutMs, timer.signal).then(
        () =>
          logger.warn(
            `${count} requests were not answered within ${timeoutMs / 1000} s. The server stops without waiting for them.`,
          ),
        () => undefined,
      );
      await Promise.race([idle, late]);
      timer.abort();
    },
  };
}
