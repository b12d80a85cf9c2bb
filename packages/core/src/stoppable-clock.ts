/** A clock that stands still at times, for limits that leave out a wait. */
import type { Clock } from './runtime.js';

export interface StoppableClock extends Pick<Clock, 'now' | 'after'> {
  /** Time that has passed while it did not stand still, in milliseconds since an arbitrary start. */
  now(): number;
  /**
   * Stands still until the returned function is called, for each call of its own: deadlines come later
   * by as much.
   */
  stop(): () => void;
  /** How long it has stood still up to now, in milliseconds. */
  stoppedMs(): number;
}

interface Timer {
  /** Time on this clock. */
  readonly due: number;
  readonly callback: () => void;
  cancel: () => void;
}

export function createStoppableClock(clock: Pick<Clock, 'now' | 'after'>): StoppableClock {
  const timers = new Set<Timer>();
  let stops = 0;
  let stoppedSince = 0;
  let stoppedBefore = 0;
  const stoppedMs = (): number => stoppedBefore + (stops > 0 ? clock.now() - stoppedSince : 0);
  const now = (): number => clock.now() - stoppedMs();
  const start = (timer: Timer): void => {
    timer.cancel = clock.after(timer.due - now(), () => {
      timers.delete(timer);
      timer.callback();
    });
  };
  return {
    now,
    stoppedMs,
    after: (ms, callback) => {
      const timer: Timer = { due: now() + ms, callback, cancel: () => undefined };
      timers.add(timer);
      if (stops === 0) start(timer);
      return () => {
        timers.delete(timer);
        timer.cancel();
      };
    },
    stop: () => {
      if (stops++ === 0) {
        stoppedSince = clock.now();
        for (const { cancel } of timers) cancel();
      }
      let isStopped = true;
      return () => {
        if (!isStopped) return;
        isStopped = false;
        if (stops > 1) return void stops--;
        stoppedBefore = stoppedMs();
        stops = 0;
        for (const timer of timers) start(timer);
      };
    },
  };
}
