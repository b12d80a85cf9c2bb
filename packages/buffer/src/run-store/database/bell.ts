/** How a process that has committed something wakes those that wait for it. */

export interface Bell {
  /** Something was committed. */
  readonly ring: () => void;
  /** Calls back after rings, this process's own included. @returns a function that ends it */
  readonly listen: (callback: () => void) => () => void;
  readonly close: () => void;
}

/** Within one process. */
export function localBell(): Bell {
  const listeners = new Set<() => void>();
  return {
    ring: () => {
      for (const listener of listeners) listener();
    },
    listen: (callback) => {
      // Two listeners may share one function.
      const listener = (): void => callback();
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => listeners.clear(),
  };
}
