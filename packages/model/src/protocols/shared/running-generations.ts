/**
 * Tracks the generations of a rollout that are in progress, so that the end of the rollout aborts
 * all of them.
 */

export interface RunningGenerations {
  /** Starts a generation. The returned controller, or the end of the rollout, aborts it. */
  start(): AbortController;
  finish(generation: AbortController): void;
}

/**
 * Creates the tracker.
 * @param rolloutSignal signal of the rollout. It gets one listener for all generations, because
 * dependent signals are expensive
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
