/** Limits the number of concurrent users of a resource. */
import type { EnvironmentError } from '@trinity-rft/core';
import { type Patience, within } from '../../waiting/within.js';

export interface Slots {
  /**
   * Waits for a free slot.
   * @returns a function that frees the slot
   * @throws the error of `late` on timeout, and CancelledError
   */
  take(patience: Patience, late: () => EnvironmentError): Promise<() => void>;
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
  return {
    take: async (patience, late) => {
      if (free > 0) free--;
      else {
        await within(patience, late, (signal) => {
          const { promise, resolve } = Promise.withResolvers<void>();
          queue.push(resolve);
          signal.addEventListener('abort', () => {
            const place = queue.indexOf(resolve);
            if (place >= 0) queue.splice(place, 1);
          });
          return promise;
        });
      }
      return once();
    },
  };
}
