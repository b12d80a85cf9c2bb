/** Counts calls, and knows which ones are in flight. */

export interface Traffic {
  /** Begins a call; the returned function ends it, once. */
  begin(rollout: string): () => void;
  /** An answer went out, or could not. */
  answered(status: number): void;
  readonly inFlight: number;
  /** Rollouts with calls in flight. */
  rollouts(): readonly string[];
  /** Resolves when nothing is in flight. */
  idle(): Promise<void>;
  report(): {
    readonly calls: number;
    readonly in_flight: number;
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
