/** The generations of a rollout that are running, so that the end of the rollout ends them all. */

export interface RunningGenerations {
  /** The generation is aborted by its own controller, and when the rollout ends. */
  start(): AbortController;
  finish(generation: AbortController): void;
}

/** @param rolloutSignal gets one listener for all of them: dependent signals are expensive */
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
