/** Reports that failed rollouts wait before their retries, with one report per environment. */
import type { Clock } from '@trinity-rft/core';

/** Called when rollouts start to wait. The returned function is called when they continue. */
export type OnPause = (what: string) => () => void;

export interface BackOffs {
  /**
   * Registers that a rollout of this environment waits for `ms`.
   * @returns function to call when the rollout continues
   */
  begin(environment: string, ms: number): () => void;
}

/**
 * Creates an object that reports each environment whose rollouts wait for a retry.
 * @param onPause called once per environment, and again if another rollout waits until a later time
 */
export function createBackOffs(onPause: OnPause, clock: Pick<Clock, 'now'>): BackOffs {
  const waits = new Map<string, { count: number; until: number; end: () => void }>();
  return {
    begin: (environment, ms) => {
      const until = clock.now() + ms;
      const told = waits.get(environment);
      const wait = told ?? { count: 0, until: -Infinity, end: () => undefined };
      wait.count++;
      waits.set(environment, wait);
      if (until > wait.until) {
        wait.end();
        wait.until = until;
        wait.end = onPause(
          `another try of what failed in environment "${environment}", by ${timeOfDay(until)} at the latest`,
        );
      }
      return () => {
        if (--wait.count > 0) return;
        wait.end();
        waits.delete(environment);
      };
    },
  };
}

/** Returns the local time, such as `15:40:24`. */
const timeOfDay = (at: number): string =>
  [new Date(at).getHours(), new Date(at).getMinutes(), new Date(at).getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
