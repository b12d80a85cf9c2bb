/** A clock for time limits that stops during `untimed` waits. */
import type { Clock } from '@trinity-rft/core';
import { createStoppableClock } from '@trinity-rft/core/support';
import type { EpisodeStart, Untimed } from '../seam/types.js';

export function createDeadlineClock(clock: Pick<Clock, 'now' | 'after'>): {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly untimed: Untimed;
} {
  const own = createStoppableClock(clock);
  const untimed: Untimed = async (wait) => {
    const goOn = own.stop();
    try {
      return await wait();
    } finally {
      goOn();
    }
  };
  return { clock: own, untimed };
}

/**
 * Returns the function that excludes waits from an episode's time limits. If the episode has none,
 * the function only waits.
 */
export const untimedOf = ({ untimed = (wait) => wait() }: EpisodeStart): Untimed => untimed;
