/** A clock whose time advances only when a test advances it. */
import { type Clock, InvariantError, sleep } from '@trinity-rft/core';

export interface ManualClock extends Clock {
  /** Number of `after` and `sleep` calls whose time has not come. */
  readonly sleeping: number;
  /**
   * Advances the time by `ms` milliseconds. Calls become due in order; after each of them, waits
   * until promise continuations have run.
   */
  advance(ms: number): Promise<void>;
  /** Advances the time to the next deadline. Returns false if there is none. */
  advanceToNext(): Promise<boolean>;
}

interface Sleeper {
  readonly deadline: number;
  readonly wake: () => void;
}

/**
 * Creates a manual clock.
 * @param start initial time in milliseconds since the epoch. @default 0
 */
export function manualClock(start = 0): ManualClock {
  let now = start;
  const sleepers: Sleeper[] = [];

  const after = (ms: number, wake: () => void): (() => void) => {
    const sleeper: Sleeper = { deadline: now + Math.max(0, ms), wake };
    sleepers.push(sleeper);
    return () => {
      const index = sleepers.indexOf(sleeper);
      if (index >= 0) sleepers.splice(index, 1);
    };
  };

  const advanceTo = async (target: number): Promise<void> => {
    await settle();
    for (let next = earliest(sleepers, target); next; next = earliest(sleepers, target)) {
      sleepers.splice(sleepers.indexOf(next), 1);
      now = Math.max(now, next.deadline);
      next.wake();
      await settle();
    }
    now = target;
  };

  return {
    now: () => now,
    after,
    sleep: (ms, signal) => sleep({ after }, ms, signal),
    get sleeping() {
      return sleepers.length;
    },
    advance: (ms) => {
      if (!(ms >= 0))
        throw new InvariantError(`A manual clock was advanced by ${ms} ms; expected 0 or more.`);
      return advanceTo(now + ms);
    },
    advanceToNext: async () => {
      await settle();
      const next = earliest(sleepers, Infinity);
      if (next) await advanceTo(next.deadline);
      return next !== undefined;
    },
  };
}

/**
 * Returns the pending call with the earliest deadline not after `until`. If several have this
 * deadline, returns the one that was made first.
 */
function earliest(sleepers: readonly Sleeper[], until: number): Sleeper | undefined {
  let found: Sleeper | undefined;
  for (const sleeper of sleepers) {
    if (sleeper.deadline <= until && (found === undefined || sleeper.deadline < found.deadline))
      found = sleeper;
  }
  return found;
}

/** Waits until all promise continuations that are ready have run. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
