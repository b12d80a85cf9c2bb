export interface Lazy<T> {
  /**
   * Returns the value, which the first call opens. Concurrent calls share one attempt. After a
   * failure, the next call tries again.
   */
  readonly get: () => Promise<T>;
  /** Waits for an attempt in progress. Returns undefined if the value is not open. */
  readonly opened: () => Promise<T | undefined>;
}

/** Opens a value when it is first needed, and keeps it. A failure is not kept. */
export function lazily<T>(open: () => Promise<T>): Lazy<T> {
  let attempt: Promise<T> | undefined;
  return {
    get: () => {
      if (attempt !== undefined) return attempt;
      const made = open();
      attempt = made;
      made.catch(() => (attempt = undefined));
      return made;
    },
    opened: async () => attempt?.catch(() => undefined),
  };
}
