/** Counts the calls of a server, and tracks calls in flight. */

export interface Traffic {
  /**
   * Records the start of a call.
   * @returns function that records the end of the call; calling it again has no effect
   */
  begin(rollout: string): () => void;
  /** Counts a response with status 400 or above. Ignores all other responses. */
  answered(status: number): void;
  readonly inFlight: number;
  /** Returns the ids of rollouts with calls in flight. */
  rollouts(): readonly string[];
  /** Resolves when no call is in flight. */
  idle(): Promise<void>;
  report(): {
    readonly calls: number;
    readonly in_flight: number;
    /** Number of responses per status of 400 or above. */
    readonly errors: Readonly<Record<string, number>>;
  };
}

export function createTraffic(): Traffic {
  const inFlight = new Map<symbol, string>();
  const errors: Record<string, number> = {};
  let waiting: (() => void)[] = [];
  let calls = 0;

  return {
    begin: (rollout) => {
      const call = Symbol();
      inFlight.set(call, rollout);
      calls++;
      return () => {
        if (!inFlight.delete(call) || inFlight.size > 0) return;
        for (const resolve of waiting) resolve();
        waiting = [];
      };
    },
    answered: (status) => {
      if (status >= 400) errors[status] = (errors[status] ?? 0) + 1;
    },
    get inFlight() {
      return inFlight.size;
    },
    rollouts: () => [...new Set(inFlight.values())],
    idle: () =>
      inFlight.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)),
    report: () => ({ calls, in_flight: inFlight.size, errors: { ...errors } }),
  };
}
