/** Limits how many episodes use a resource at the same time. */
import type { EnvironmentError } from '@trinity-rft/core';
import type { EpisodeStart } from '../../seam/types.js';
import { type Patience, within } from '../../waiting/within.js';
import { untimedOf } from '../../waiting/deadline-clock.js';

export interface Slots {
  /**
   * Waits for a free slot. The wait does not count towards the time limits of the episode.
   * @param late creates the error for the timeout
   * @returns a function that frees the slot
   * @throws the error of `late` on timeout, and CancelledError on abort
   */
  take(start: EpisodeStart, patience: Patience, late: () => EnvironmentError): Promise<() => void>;
}

export function createSlots(limit: number): Slots {
  let free = limit;
  const queue: (() => void)[] = [];
  const release = (): void => {
    const next = queue.shift();
    if (next === undefined) free++;
    else next();
  };
  const once = (): (() => void) => {
    let isTaken = true;
    return () => {
      if (isTaken) release();
      isTaken = false;
    };
  };
  const turn = (signal: AbortSignal): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    queue.push(resolve);
    signal.addEventListener('abort', () => {
      const place = queue.indexOf(resolve);
      if (place >= 0) queue.splice(place, 1);
    });
    return promise;
  };
  return {
    take: async (start, patience, late) => {
      if (free > 0) free--;
      else await untimedOf(start)(() => within(patience, late, turn));
      return once();
    },
  };
}
