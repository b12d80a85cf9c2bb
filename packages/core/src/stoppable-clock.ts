/** A clock that can be paused, for time limits that exclude certain waits. */
import type { Clock } from './runtime.js';

export interface StoppableClock extends Pick<Clock, 'now' | 'after'> {
  /**
   * Returns the time that passed while the clock was not paused, in milliseconds since an arbitrary
   * start.
   */
  now(): number;
  /**
   * Pauses the clock until the returned function is called. Pauses may overlap. Timers are delayed
   * by the paused time.
   */
  stop(): () => void;
  /** Returns the total paused time up to now, in milliseconds. */
  stoppedMs(): number;
}

interface Timer {
  /** Time on this clock at which the timer fires. */
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
