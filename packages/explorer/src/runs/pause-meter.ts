/** Measures the time that an agent waits for something other than the trained model. */
import type { Clock } from '@trinity-rft/core';
import type { Sampler } from '@trinity-rft/core/engine';

export interface PauseMeter {
  /** Wraps a sampler so that the meter can measure when no call is in progress. */
  watch(sampler: Sampler): Sampler;
  /**
   * Returns the longest time so far, in milliseconds, during which no sampler call was in progress.
   */
  longestPauseMs(): number;
}

/** Creates a meter. The time before the first sampler call is a pause. */
export function createPauseMeter({ now }: Pick<Clock, 'now'>): PauseMeter {
  let inFlight = 0;
  let pausedSince = now();
  let longest = 0;
  const during = async <T>(call: () => Promise<T>): Promise<T> => {
    if (inFlight++ === 0) longest = Math.max(longest, now() - pausedSince);
    try {
      return await call();
    } finally {
      if (--inFlight === 0) pausedSince = now();
    }
  };
  return {
    watch: (sampler) => ({
      get policyVersion() {
        return sampler.policyVersion;
      },
      maxModelLen: sampler.maxModelLen,
      sample: (...args) => during(() => sampler.sample(...args)),
      score: sampler.score && ((...args) => during(() => sampler.score!(...args))),
      adopt: (...args) => sampler.adopt(...args),
    }),
    longestPauseMs: () => (inFlight > 0 ? longest : Math.max(longest, now() - pausedSince)),
  };
}
