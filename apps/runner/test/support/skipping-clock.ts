/** The system clock, which a test can advance instead of waiting. */
import { type Clock, sleep, systemClock } from '@trinity-rft/core';

export interface SkippingClock extends Clock {
  /** Moves time forward, at the next turn of the event loop. */
  skip(ms: number): void;
}

export function skippingClock(): SkippingClock {
  let skipped = 0;
  const waiting = new Set<{ readonly due: number; readonly wake: () => void }>();
  const now = (): number => systemClock.now() + skipped;
  const after = (ms: number, callback: () => void): (() => void) => {
    const cancel = (): void => {
      waiting.delete(waiter);
      stop();
    };
    const wake = (): void => {
      cancel();
      callback();
    };
    const waiter = { due: now() + ms, wake };
    const stop = systemClock.after(ms, wake);
    waiting.add(waiter);
    return cancel;
  };
  const wakeDue = (): void => {
    for (const { due, wake } of [...waiting]) if (due <= now()) wake();
  };
  return {
    now,
    after,
    sleep: (ms, signal) => sleep({ after }, ms, signal),
    skip: (ms) =>
      void setImmediate(() => {
        skipped += ms;
        wakeDue();
      }),
  };
}
