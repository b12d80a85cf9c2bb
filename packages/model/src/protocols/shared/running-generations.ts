/**
 * Tracks the generations of a rollout that are in progress, so that they can be aborted when the
 * rollout ends.
 */

export interface RunningGenerations {
  /**
   * Registers a generation. Its signal aborts through the returned controller, or when the rollout
   * ends.
   */
  start(): AbortController;
  finish(generation: AbortController): void;
}

/**
 * Creates the tracker.
 * @param rolloutSignal signal of the rollout. It gets a single listener for all generations,
 * because deriving a signal for each is expensive
 */
export function trackGenerations(rolloutSignal: AbortSignal | undefined): RunningGenerations {
  const running = new Set<AbortController>();
  const abortAll = (): void => {
    for (const generation of running) generation.abort(rolloutSignal?.reason);
  };
  return {
    start: () => {
      const generation = new AbortController();
      if (rolloutSignal?.aborted) generation.abort(rolloutSignal.reason);
      else {
        if (running.size === 0) rolloutSignal?.addEventListener('abort', abortAll);
        running.add(generation);
      }
      return generation;
    },
    finish: (generation) => {
      if (running.delete(generation) && running.size === 0)
        rolloutSignal?.removeEventListener('abort', abortAll);
    },
  };
}
